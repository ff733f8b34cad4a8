// SPDX-License-Identifier: Apache-2.0
#include "io/gguf_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>

#include "core/error.h"
#include "io/gguf_reader.h"
#include "io/quote_name.h"

namespace kvscope {
namespace {

template <class T>
T number_at(std::span<const std::byte> bytes, std::size_t i) {
  T x;
  std::memcpy(&x, bytes.data() + i * sizeof(T), sizeof(T));  // little-endian, as everywhere
  return x;
}

}  // namespace

std::string_view GgufValue::text(std::size_t i) const {
  KVSCOPE_ASSERT(is_text() && i < count_);
  return texts_[i];
}

bool GgufValue::flag(std::size_t i) const {
  KVSCOPE_ASSERT(is_flag() && i < count_);
  return bytes_[i] != std::byte(0);
}

std::int64_t GgufValue::whole(std::size_t i) const {
  KVSCOPE_ASSERT(is_whole() && i < count_);
  switch (kind_) {
    case Kind::u8:
      return number_at<std::uint8_t>(bytes_, i);
    case Kind::i8:
      return number_at<std::int8_t>(bytes_, i);
    case Kind::u16:
      return number_at<std::uint16_t>(bytes_, i);
    case Kind::i16:
      return number_at<std::int16_t>(bytes_, i);
    case Kind::u32:
      return number_at<std::uint32_t>(bytes_, i);
    case Kind::i32:
      return number_at<std::int32_t>(bytes_, i);
    case Kind::i64:
      return number_at<std::int64_t>(bytes_, i);
    default:
      return static_cast<std::int64_t>(
          std::min<std::uint64_t>(number_at<std::uint64_t>(bytes_, i), std::numeric_limits<std::int64_t>::max()));
  }
}

double GgufValue::real(std::size_t i) const {
  if (is_whole()) return static_cast<double>(whole(i));
  KVSCOPE_ASSERT(is_real() && i < count_);
  return kind_ == Kind::f32 ? number_at<float>(bytes_, i) : number_at<double>(bytes_, i);
}

GgufFile GgufFile::open(const std::string& path) {
  auto file = std::make_shared<MappedFile>(path);
  GgufFile result = GgufReader(file->bytes(), path).read();
  file->check();
  GgufReader::keep(result, std::move(file));
  return result;
}

GgufFile GgufFile::parse(std::span<const std::byte> bytes, const std::string& name) { return GgufReader(bytes, name).read(); }

bool GgufFile::is_one(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return false;  // a pipe would wait for its writer
  std::ifstream file(path, std::ios::binary);
  char magic[4] = {};
  return file.read(magic, sizeof magic) && std::string_view(magic, sizeof magic) == "GGUF";
}

const GgufValue* GgufFile::find(std::string_view key) const {
  const auto found = metadata_.find(key);
  return found == metadata_.end() ? nullptr : &found->second;
}

void GgufFile::fail(std::string_view key, std::string_view what) const { throw Error(fmt::format("{}: {}: {}", name_, key, what)); }

std::string_view GgufFile::text(std::string_view key) const {
  const GgufValue* value = find(key);
  if (!value) fail(key, "is missing, expected a text");
  if (!value->is_text() || value->is_list()) fail(key, "expected a text, got something else");
  return value->text();
}

std::int64_t GgufFile::whole(std::string_view key) const {
  const GgufValue* value = find(key);
  if (!value) fail(key, "is missing, expected a whole number");
  if (!value->is_whole() || value->is_list()) fail(key, "expected a whole number, got something else");
  return value->whole();
}

std::string_view GgufFile::text_or(std::string_view key, std::string_view otherwise) const { return find(key) ? text(key) : otherwise; }

std::int64_t GgufFile::whole_or(std::string_view key, std::int64_t otherwise) const { return find(key) ? whole(key) : otherwise; }

bool GgufFile::flag_or(std::string_view key, bool otherwise) const {
  const GgufValue* value = find(key);
  if (!value) return otherwise;
  if (!value->is_flag() || value->is_list()) fail(key, "expected a flag, got something else");
  return value->flag();
}

const GgufValue* GgufFile::texts(std::string_view key) const {
  const GgufValue* value = find(key);
  if (value && !(value->is_list() && value->is_text())) fail(key, "expected a list of texts, got something else");
  return value;
}

const GgufValue* GgufFile::wholes(std::string_view key) const {
  const GgufValue* value = find(key);
  if (value && !(value->is_list() && value->is_whole())) fail(key, "expected a list of whole numbers, got something else");
  return value;
}

const GgufValue* GgufFile::reals(std::string_view key) const {
  const GgufValue* value = find(key);
  if (value && !(value->is_list() && value->is_real())) fail(key, "expected a list of numbers with fractions, got something else");
  return value;
}

}  // namespace kvscope
