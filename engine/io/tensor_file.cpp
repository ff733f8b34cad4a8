// SPDX-License-Identifier: Apache-2.0
#include "io/tensor_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <string_view>

#include "core/error.h"
#include "io/quote_name.h"
#include "io/safetensors_header.h"

namespace kvscope {
namespace {

constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;  // the limit of the reference implementation

struct KnownDType {
  std::string_view name;
  std::uint64_t bytes;
  std::optional<DType> view;
};

constexpr std::array<KnownDType, 15> kDTypes = {{
    {"F32", 4, DType::f32},
    {"F64", 8, DType::f64},
    {"F16", 2, DType::f16},
    {"BF16", 2, DType::bf16},
    {"BOOL", 1, {}},
    {"U8", 1, {}},
    {"I8", 1, {}},
    {"F8_E4M3", 1, {}},
    {"F8_E5M2", 1, {}},
    {"I16", 2, {}},
    {"U16", 2, {}},
    {"I32", 4, {}},
    {"U32", 4, {}},
    {"I64", 8, {}},
    {"U64", 8, {}},
}};

std::uint64_t read_u64(std::span<const std::byte> bytes) {
  std::uint64_t value = 0;
  for (int i = 7; i >= 0; --i) value = value << 8 | std::to_integer<std::uint64_t>(bytes[static_cast<std::size_t>(i)]);
  return value;
}

/// Product of the shape times the element size; nullopt beyond 63 bits. A zero anywhere makes it zero.
std::optional<std::uint64_t> bytes_of_shape(const std::vector<std::uint64_t>& shape, std::uint64_t element_bytes) {
  constexpr auto limit = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (std::any_of(shape.begin(), shape.end(), [](std::uint64_t n) { return n > limit; })) return std::nullopt;
  if (std::find(shape.begin(), shape.end(), 0u) != shape.end()) return 0;
  std::uint64_t total = element_bytes;
  for (const std::uint64_t n : shape) {
    if (total > limit / n) return std::nullopt;
    total *= n;
  }
  return total;
}

/// The format allows neither overlaps nor holes, so the tensors in order of offset must tile the data.
void check_tiling(std::vector<HeaderEntry>& entries, std::uint64_t data_bytes, const std::string& name) {
  std::sort(entries.begin(), entries.end(), [](const HeaderEntry& a, const HeaderEntry& b) { return a.data_offsets < b.data_offsets; });
  std::uint64_t end = 0;
  for (const HeaderEntry& entry : entries) {
    const std::uint64_t begin = entry.data_offsets[0];
    if (begin != end) {
      throw Error(fmt::format("{}: tensor {} begins at {}, expected {} (the tensors must follow each other without {})", name,
                              quote_name(entry.name), begin, end, begin < end ? "overlap" : "a hole"));
    }
    end = entry.data_offsets[1];
  }
  if (end != data_bytes) throw Error(fmt::format("{}: the tensors end at {}, expected the end of the data at {}", name, end, data_bytes));
}

}  // namespace

TensorFile TensorFile::open(const std::string& path) {
  auto file = std::make_shared<MappedFile>(path);
  TensorFile result = parse(file->bytes(), path);
  result.file_ = std::move(file);
  return result;
}

void TensorFile::replace(const std::string& name, DType dtype, std::vector<std::byte> bytes) {
  TensorView& tensor = tensors_.at(name);
  const auto numbers = [](DType type, std::size_t n) { return n / block_of(type).bytes * block_of(type).numbers; };
  KVSCOPE_ASSERT(numbers(dtype, bytes.size()) == numbers(tensor.dtype, tensor.bytes.size()));
  tensor.dtype = dtype;
  replaced_.push_back(std::make_shared<const std::vector<std::byte>>(std::move(bytes)));
  tensor.bytes = *replaced_.back();
}

TensorFile TensorFile::parse(std::span<const std::byte> bytes, const std::string& name) {
  if (bytes.size() < 8)
    throw Error(fmt::format("{}: expected a safetensors file, got {} bytes (8 are needed for the header's length)", name, bytes.size()));
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (text.starts_with("version https://git-lfs")) {
    throw Error(fmt::format("{}: expected a safetensors file, got a Git LFS pointer; fetch the file itself with git lfs pull", name));
  }
  const std::uint64_t header_bytes = read_u64(bytes);
  if (header_bytes > kMaxHeaderBytes) {
    throw Error(fmt::format("{}: expected a safetensors file, got a header length of {} bytes (at most {}); is it another format?", name,
                            header_bytes, kMaxHeaderBytes));
  }
  if (header_bytes > bytes.size() - 8) {
    throw Error(fmt::format("{}: the header should have {} bytes, the file has {} after the length; is the download complete?", name,
                            header_bytes, bytes.size() - 8));
  }
  const std::string_view header = text.substr(8, header_bytes);
  if (!header.starts_with('{')) throw Error(fmt::format("{}: expected a safetensors header beginning with '{{', got another format", name));
  const std::span<const std::byte> data = bytes.subspan(8 + header_bytes);

  std::vector<HeaderEntry> entries = parse_safetensors_header(header, name);
  TensorFile file;
  for (const HeaderEntry& entry : entries) {
    const auto* dtype = std::find_if(kDTypes.begin(), kDTypes.end(), [&](const KnownDType& known) { return known.name == entry.dtype; });
    if (dtype == kDTypes.end())
      throw Error(fmt::format("{}: tensor {} has the unknown dtype {}", name, quote_name(entry.name), quote_name(entry.dtype)));
    if (entry.data_offsets.size() != 2) {
      throw Error(fmt::format("{}: tensor {}: expected two data_offsets, got {}", name, quote_name(entry.name), entry.data_offsets.size()));
    }
    const std::uint64_t begin = entry.data_offsets[0], end = entry.data_offsets[1];
    if (begin > end || end > data.size()) {
      throw Error(fmt::format("{}: tensor {} lies at [{}, {}), outside the {} bytes of data; is the download complete?", name,
                              quote_name(entry.name), begin, end, data.size()));
    }
    const auto expected = bytes_of_shape(entry.shape, dtype->bytes);
    if (!expected || *expected != end - begin) {
      throw Error(fmt::format("{}: tensor {} of {} [{}] needs {} bytes, its data_offsets span {}", name, quote_name(entry.name),
                              entry.dtype, fmt::join(entry.shape, ", "), expected ? fmt::format("{}", *expected) : "more than 2^63",
                              end - begin));
    }
    const std::vector<std::int64_t> shape(entry.shape.begin(), entry.shape.end());
    const std::span<const std::byte> numbers = data.subspan(begin, end - begin);
    if (dtype->view)
      file.tensors_[entry.name] = {*dtype->view, shape, numbers};
    else
      file.others_[entry.name] = OtherTensor{entry.dtype, shape, numbers};
  }
  check_tiling(entries, data.size(), name);
  return file;
}

}  // namespace kvscope
