// SPDX-License-Identifier: Apache-2.0
#include "io/trained/feature_maps_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "core/error.h"
#include "io/quote_name.h"
#include "io/sha256.h"
#include "io/tensor_file.h"
#include "io/tensor_numbers.h"

namespace kvscope {
namespace {

constexpr std::array<std::string_view, 5> kParts = {"query_1", "query_2", "key_1", "key_2", "key_3"};
constexpr const char* kWeights = "weights_sha256";
constexpr std::int64_t kMaxSize = 65536;  // layers, heads, numbers of a layer

/// One set of maps, by its name.
class SetReader {
 public:
  SetReader(const TensorFile& file, const std::string& path, const std::string& name) : file_(file), path_(path), name_(name) {}

  FeatureMaps read() {
    const std::vector<std::int64_t>& first = of("query_1").shape;
    if (first.size() != 4 || !std::ranges::all_of(first, [](std::int64_t n) { return n >= 1 && n <= kMaxSize; }))
      refuse("query_1", "[layers, KV heads, head_dim, hidden]");
    const std::vector<std::int64_t>& second = of("query_2").shape;
    const std::int64_t layers = first[0], heads = first[1], dim = first[2], hidden = first[3], width = second.empty() ? 0 : second.back();
    if (width < 1 || width > kMaxSize) refuse("query_2", "[layers, KV heads, hidden, features]");
    return {.n_layers = static_cast<int>(layers),
            .n_kv_heads = static_cast<int>(heads),
            .head_dim = static_cast<int>(dim),
            .hidden = static_cast<int>(hidden),
            .width = static_cast<int>(width),
            .query_1 = numbers("query_1", {layers, heads, dim, hidden}),
            .query_2 = numbers("query_2", {layers, heads, hidden, width}),
            .key_1 = numbers("key_1", {layers, heads, dim, hidden}),
            .key_2 = numbers("key_2", {layers, heads, hidden, width}),
            .key_mixed = numbers("key_3", {layers, heads, width, width})};
  }

 private:
  std::string full_name(std::string_view part) const { return fmt::format("{}.{}", name_, part); }
  const TensorView& of(std::string_view part) const {
    const auto found = file_.tensors().find(full_name(part));
    if (found == file_.tensors().end())
      throw Error(fmt::format("{}: expected a tensor {} of F32, F16 or BF16, got none", path_, quote_name(full_name(part))));
    return found->second;
  }
  std::vector<double> numbers(std::string_view part, const std::vector<std::int64_t>& shape) const {
    if (of(part).shape != shape) refuse(part, fmt::format("[{}]", fmt::join(shape, ", ")));
    return finite_numbers(file_, path_, quote_name(full_name(part)), of(part));
  }
  [[noreturn]] void refuse(std::string_view part, std::string_view expected) const {
    throw Error(
        fmt::format("{}: tensor {}: expected {}, got [{}]", path_, quote_name(full_name(part)), expected, fmt::join(of(part).shape, ", ")));
  }

  const TensorFile& file_;
  const std::string& path_;
  const std::string& name_;
};

std::string weights_of(const TensorFile& file, const std::string& path) {
  const auto found = file.others().find(kWeights);
  if (found == file.others().end()) return {};
  Sha256::Digest digest;
  if (found->second.dtype != "U8" || found->second.bytes.size() != digest.size())
    throw Error(fmt::format("{}: tensor {}: expected U8 [{}], got {} [{}]", path, kWeights, digest.size(), found->second.dtype,
                            fmt::join(found->second.shape, ", ")));
  std::memcpy(digest.data(), found->second.bytes.data(), digest.size());
  file.check();
  return hexadecimal(digest);
}

}  // namespace

FeatureMapsFile read_feature_maps(const std::string& path) {
  const TensorFile file = TensorFile::open(path);
  FeatureMapsFile out{.path = path, .weights_sha256 = weights_of(file, path), .sets = {}};
  for (const auto& [name, tensor] : file.tensors()) {
    const std::size_t dot = name.rfind('.');
    if (dot == name.npos || dot == 0 || std::ranges::find(kParts, std::string_view(name).substr(dot + 1)) == kParts.end())
      throw Error(fmt::format("{}: expected tensors NAME.{}, got {}", path, fmt::join(kParts, ", NAME."), quote_name(name)));
    const std::string set = name.substr(0, dot);
    if (!out.sets.contains(set)) out.sets.emplace(set, SetReader(file, path, set).read());
  }
  if (out.sets.empty()) throw Error(fmt::format("{}: expected tensors NAME.{}, got none", path, fmt::join(kParts, ", NAME.")));
  return out;
}

}  // namespace kvscope
