// SPDX-License-Identifier: Apache-2.0
#include "io/head_vectors_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/error.h"
#include "core/half.h"
#include "io/tensor_file.h"

namespace kvscope {
namespace {

constexpr const char* kTensor = "q_filters";
constexpr std::int64_t kMaxSize = 65536;  // layers, heads or numbers of a vector

/// Little-endian, anywhere in memory.
template <class T>
T read_as(const std::byte* at) {
  T out;
  std::memcpy(&out, at, sizeof out);
  return out;
}

double number(DType type, const std::byte* at) {
  switch (type) {
    case DType::f64:
      return read_as<double>(at);
    case DType::f32:
      return static_cast<double>(read_as<float>(at));
    case DType::f16:
      return static_cast<double>(half_to_float(read_as<std::uint16_t>(at)));
    default:
      return static_cast<double>(bfloat_to_float(read_as<std::uint16_t>(at)));
  }
}

}  // namespace

HeadVectors read_head_vectors(const std::string& path) {
  const TensorFile file = TensorFile::open(path);
  const auto found = file.tensors().find(kTensor);
  if (found == file.tensors().end())
    throw Error(fmt::format("{}: expected a tensor {} of F32, F16 or BF16, got {}", path, kTensor,
                            file.others().contains(kTensor) ? file.others().at(kTensor).dtype : "no such tensor"));
  const TensorView& view = found->second;
  const auto in_range = [](std::int64_t n) { return n >= 1 && n <= kMaxSize; };
  if (view.shape.size() != 3 || !std::ranges::all_of(view.shape, in_range))
    throw Error(fmt::format("{}: tensor {}: expected [layers, KV heads, head_dim], got [{}]", path, kTensor, fmt::join(view.shape, ", ")));
  HeadVectors out{.path = path,
                  .n_layers = static_cast<int>(view.shape[0]),
                  .n_kv_heads = static_cast<int>(view.shape[1]),
                  .width = static_cast<int>(view.shape[2]),
                  .numbers = {}};
  const std::size_t size = size_of(view.dtype);
  out.numbers.resize(view.bytes.size() / size);
  for (std::size_t i = 0; i < out.numbers.size(); ++i) out.numbers[i] = number(view.dtype, view.bytes.data() + i * size);
  file.check();
  const auto bad = std::ranges::find_if_not(out.numbers, [](double x) { return std::isfinite(x); });
  if (bad != out.numbers.end())
    throw Error(fmt::format("{}: tensor {}: expected finite numbers, got {} at place {}", path, kTensor, *bad, bad - out.numbers.begin()));
  return out;
}

}  // namespace kvscope
