// SPDX-License-Identifier: Apache-2.0
#include "io/gguf_reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <optional>

#include "core/error.h"
#include "io/quote_name.h"

namespace kvscope {
namespace {

using Kind = GgufValue::Kind;

constexpr std::uint64_t kMaxKey = 65535, kMaxTensorName = 255;  // bytes
constexpr std::uint64_t kMaxRank = 4;
constexpr std::uint64_t kMaxAlignment = 1 << 16;
/// Elements of all lists of the metadata. A vocabulary with its merges has some 2 million; a sparse file may promise any number of empty
/// texts, each of which takes memory here.
constexpr std::uint64_t kMaxElements = 1 << 24;
constexpr std::uint64_t kLeastPair = 8 + 4 + 1, kLeastTensor = 8 + 4 + 8 + 4 + 8;  // bytes that one takes

struct KnownType {
  std::uint32_t number;
  std::string_view name;
  Block block;
  std::optional<DType> view;
};

constexpr KnownType read_type(std::uint32_t number, std::string_view name, DType type) { return {number, name, block_of(type), type}; }

// Of the types that are not read only the size matters: the rest of the file must be where they say.
constexpr std::array kTypes = {
    read_type(0, "F32", DType::f32),         read_type(1, "F16", DType::f16),         read_type(2, "Q4_0", DType::q4_0),
    KnownType{3, "Q4_1", {32, 20}, {}},      read_type(6, "Q5_0", DType::q5_0),       KnownType{7, "Q5_1", {32, 24}, {}},
    read_type(8, "Q8_0", DType::q8_0),       KnownType{10, "Q2_K", {256, 84}, {}},    KnownType{11, "Q3_K", {256, 110}, {}},
    read_type(12, "Q4_K", DType::q4_k),      read_type(13, "Q5_K", DType::q5_k),      read_type(14, "Q6_K", DType::q6_k),
    KnownType{16, "IQ2_XXS", {256, 66}, {}}, KnownType{17, "IQ2_XS", {256, 74}, {}},  KnownType{18, "IQ3_XXS", {256, 98}, {}},
    KnownType{19, "IQ1_S", {256, 50}, {}},   read_type(20, "IQ4_NL", DType::iq4_nl),  KnownType{21, "IQ3_S", {256, 110}, {}},
    KnownType{22, "IQ2_S", {256, 82}, {}},   KnownType{23, "IQ4_XS", {256, 136}, {}}, KnownType{24, "I8", {1, 1}, {}},
    KnownType{25, "I16", {1, 2}, {}},        KnownType{26, "I32", {1, 4}, {}},        KnownType{27, "I64", {1, 8}, {}},
    read_type(28, "F64", DType::f64),        KnownType{29, "IQ1_M", {256, 56}, {}},   read_type(30, "BF16", DType::bf16),
    KnownType{34, "TQ1_0", {256, 54}, {}},   KnownType{35, "TQ2_0", {256, 66}, {}},   KnownType{39, "MXFP4", {32, 17}, {}},
};

/// Bytes of one value of a kind that has always as many; 0: it has not.
std::size_t bytes_of_kind(Kind kind) {
  switch (kind) {
    case Kind::u8:
    case Kind::i8:
    case Kind::flag:
      return 1;
    case Kind::u16:
    case Kind::i16:
      return 2;
    case Kind::u32:
    case Kind::i32:
    case Kind::f32:
      return 4;
    case Kind::u64:
    case Kind::i64:
    case Kind::f64:
      return 8;
    default:
      return 0;
  }
}

/// nullopt beyond 63 bits.
std::optional<std::uint64_t> product(std::uint64_t a, std::uint64_t b) {
  constexpr auto limit = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (b != 0 && a > limit / b) return std::nullopt;
  return a * b;
}

std::uint64_t rounded_up(std::uint64_t n, std::uint64_t step) { return (n + step - 1) / step * step; }

}  // namespace

std::span<const std::byte> GgufReader::take(std::uint64_t n, std::string_view what) {
  if (n > left())
    throw Error(
        fmt::format("{}: {} needs {} bytes from byte {} on, the file has {}; is the download complete?", name_, what, n, at_, left()));
  const auto out = bytes_.subspan(at_, n);
  at_ += n;
  return out;
}

template <class T>
T GgufReader::number(std::string_view what) {
  T x;
  std::memcpy(&x, take(sizeof(T), what).data(), sizeof(T));
  return x;
}

std::string_view GgufReader::text(std::uint64_t most, std::string_view what) {
  const auto size = number<std::uint64_t>(what);
  if (size > most) throw Error(fmt::format("{}: {} should have {} bytes, expected at most {}", name_, what, size, most));
  const auto bytes = take(size, what);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void GgufReader::read_header() {
  const std::string_view head(reinterpret_cast<const char*>(bytes_.data()), std::min<std::size_t>(bytes_.size(), 64));
  if (head.starts_with("version https://git-lfs"))
    throw Error(fmt::format("{}: expected a GGUF file, got a Git LFS pointer; fetch the file itself with git lfs pull", name_));
  if (!head.starts_with("GGUF"))
    throw Error(
        fmt::format("{}: expected a GGUF file (it begins with GGUF), got {}", name_, bytes_.empty() ? "an empty file" : "another format"));
  at_ = 4;
  const auto version = number<std::uint32_t>("the header");
  if (version != 2 && version != 3) {
    const bool swapped = (version & 0xffff) == 0 && version != 0;
    throw Error(fmt::format("{}: expected GGUF version 2 or 3 in little-endian order, got {}", name_,
                            swapped ? "big-endian order" : fmt::format("version {}; convert the model anew", version)));
  }
  n_tensors_ = number<std::uint64_t>("the header");
  n_pairs_ = number<std::uint64_t>("the header");
  if (n_tensors_ > left() / kLeastTensor || n_pairs_ > left() / kLeastPair) {
    throw Error(fmt::format("{}: the header says {} tensors and {} pairs of metadata, {} bytes follow; is the download complete?", name_,
                            n_tensors_, n_pairs_, left()));
  }
}

void GgufReader::count_elements(std::uint64_t count, const std::string& key) {
  if (count > kMaxElements - n_elements_)
    throw Error(fmt::format("{}: {} should have {} elements, expected at most {} in all lists", name_, key, count, kMaxElements));
  n_elements_ += count;
}

void GgufReader::read_elements(GgufValue& value, std::uint64_t count, const std::string& key) {
  value.count_ = count;
  if (value.kind_ == Kind::text) {
    if (count > left() / 8) throw Error(fmt::format("{}: {} should have {} texts, {} bytes follow", name_, key, count, left()));
    count_elements(count, key);
    value.texts_.reserve(count);
    for (std::uint64_t i = 0; i < count; ++i) value.texts_.push_back(text(left(), key));
    return;
  }
  const auto size = product(count, bytes_of_kind(value.kind_));
  value.bytes_ = take(size.value_or(std::numeric_limits<std::uint64_t>::max()), key);
  count_elements(count, key);
  if (value.kind_ == Kind::flag) {
    const auto bad = std::ranges::find_if(value.bytes_, [](std::byte b) { return b > std::byte(1); });
    if (bad != value.bytes_.end())
      throw Error(fmt::format("{}: {}: expected flags of 0 or 1, got {}", name_, key, std::to_integer<int>(*bad)));
  }
}

void GgufReader::read_value(GgufValue& value, const std::string& key) {
  const auto kind_of = [&](const char* what) {
    const auto kind = number<std::uint32_t>(key);
    if (kind > static_cast<std::uint32_t>(Kind::f64))
      throw Error(fmt::format("{}: {}: expected {} of 0 to 12, got {}", name_, key, what, kind));
    return static_cast<Kind>(kind);
  };
  value.kind_ = kind_of("a kind of value");
  if (value.kind_ != Kind::list) return read_elements(value, 1, key);
  value.is_list_ = true;
  value.kind_ = kind_of("a kind of elements");
  if (value.kind_ == Kind::list) throw Error(fmt::format("{}: {}: lists of lists are not read", name_, key));
  read_elements(value, number<std::uint64_t>(key), key);
}

void GgufReader::read_pair(GgufFile& out) {
  const std::string key(text(kMaxKey, "a key of the metadata"));
  const std::string shown = quote_name(key);
  GgufValue value;
  read_value(value, shown);
  if (!out.metadata_.try_emplace(key, std::move(value)).second) throw Error(fmt::format("{}: {} is there twice", name_, shown));
}

GgufReader::Entry GgufReader::read_entry() {
  Entry entry;
  entry.name = text(kMaxTensorName, "the name of a tensor");
  const std::string shown = "tensor " + quote_name(entry.name);
  const auto rank = number<std::uint32_t>(shown);
  if (rank < 1 || rank > kMaxRank) throw Error(fmt::format("{}: {}: expected 1 to {} dimensions, got {}", name_, shown, kMaxRank, rank));
  std::vector<std::uint64_t> dims(rank);
  for (std::uint64_t& n : dims) n = number<std::uint64_t>(shown);
  const auto number_of_type = number<std::uint32_t>(shown);
  entry.begin = number<std::uint64_t>(shown);

  const auto* type = std::ranges::find(kTypes, number_of_type, &KnownType::number);
  if (type == kTypes.end()) throw Error(fmt::format("{}: {} has the unknown type {}", name_, shown, number_of_type));
  entry.type = type->name;
  std::optional<std::uint64_t> numbers = 1;
  for (const std::uint64_t n : dims) {
    if (n == 0) throw Error(fmt::format("{}: {} is [{}], expected no dimension of 0", name_, shown, fmt::join(dims, ", ")));
    numbers = numbers ? product(*numbers, n) : std::nullopt;
  }
  const auto size = numbers ? product(*numbers, type->block.bytes) : std::nullopt;  // a margin of a block's numbers
  if (!size) throw Error(fmt::format("{}: {} is [{}]: more than 2^63 bytes", name_, shown, fmt::join(dims, ", ")));
  if (dims[0] % type->block.numbers != 0) {
    throw Error(fmt::format("{}: {} of {} has rows of {} numbers, expected a multiple of {}", name_, shown, type->name, dims[0],
                            type->block.numbers));
  }
  entry.size = *size / type->block.numbers;
  entry.view.shape.assign(dims.rbegin(), dims.rend());
  entry.has_view = type->view.has_value();
  entry.view.dtype = type->view.value_or(DType::f32);
  return entry;
}

/// Tensors in order of their offsets follow each other in the data, each from the next multiple of the alignment on.
void GgufReader::place(std::vector<Entry>& entries, GgufFile& out) const {
  const std::uint64_t begin = rounded_up(at_, alignment_);
  const auto data = entries.empty() ? std::span<const std::byte>() : bytes_.subspan(std::min<std::uint64_t>(begin, bytes_.size()));
  std::ranges::sort(entries, {}, &Entry::begin);
  std::uint64_t end = 0;
  for (const Entry& entry : entries) {
    const std::string shown = quote_name(entry.name);
    if (entry.begin % alignment_ != 0)
      throw Error(fmt::format("{}: tensor {} begins at {}, expected a multiple of {}", name_, shown, entry.begin, alignment_));
    if (entry.begin > data.size() || entry.size > data.size() - entry.begin) {
      throw Error(fmt::format("{}: tensor {} needs {} bytes from {} on, outside the {} bytes of data; is the download complete?", name_,
                              shown, entry.size, entry.begin, data.size()));
    }
    const std::uint64_t expected = rounded_up(end, alignment_);
    if (entry.begin != expected) {
      throw Error(fmt::format("{}: tensor {} begins at {}, expected {} (the tensors must follow each other without {})", name_, shown,
                              entry.begin, expected, entry.begin < expected ? "overlap" : "a hole"));
    }
    end = entry.begin + entry.size;
  }
  if (rounded_up(end, alignment_) < data.size())
    throw Error(fmt::format("{}: the tensors end at {}, expected the end of the data at {}", name_, end, data.size()));
  for (Entry& entry : entries) {
    const bool is_new = !out.tensors_.tensors_.contains(entry.name) && !out.tensors_.others_.contains(entry.name);
    if (!is_new) throw Error(fmt::format("{}: tensor {} is listed twice", name_, quote_name(entry.name)));
    entry.view.bytes = data.subspan(entry.begin, entry.size);
    if (entry.has_view) {
      out.tensors_.tensors_[entry.name] = std::move(entry.view);
    } else {
      out.tensors_.others_[entry.name] = OtherTensor{.dtype = std::string(entry.type)};
    }
  }
}

GgufFile GgufReader::read() {
  read_header();
  GgufFile out;
  out.name_ = name_;
  for (std::uint64_t i = 0; i < n_pairs_; ++i) read_pair(out);
  constexpr std::string_view kAlignment = "general.alignment";
  if (out.find(kAlignment)) {
    const std::int64_t alignment = out.whole(kAlignment);
    if (alignment < 1 || alignment > static_cast<std::int64_t>(kMaxAlignment) ||
        !std::has_single_bit(static_cast<std::uint64_t>(alignment)))
      out.fail(kAlignment, fmt::format("expected a power of two up to {}, got {}", kMaxAlignment, alignment));
    alignment_ = static_cast<std::uint64_t>(alignment);
  }
  std::vector<Entry> entries;
  entries.reserve(n_tensors_);
  for (std::uint64_t i = 0; i < n_tensors_; ++i) entries.push_back(read_entry());
  place(entries, out);
  return out;
}

}  // namespace kvscope
