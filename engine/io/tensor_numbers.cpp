// SPDX-License-Identifier: Apache-2.0
#include "io/tensor_numbers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/error.h"
#include "core/half.h"

namespace kvscope {
namespace {

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

std::vector<double> finite_numbers(const TensorFile& file, const std::string& path, const std::string& name, const TensorView& tensor) {
  const std::size_t size = size_of(tensor.dtype);
  std::vector<double> out(tensor.bytes.size() / size);
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = number(tensor.dtype, tensor.bytes.data() + i * size);
  file.check();
  const auto bad = std::ranges::find_if_not(out, [](double x) { return std::isfinite(x); });
  if (bad != out.end())
    throw Error(fmt::format("{}: tensor {}: expected finite numbers, got {} at place {}", path, name, *bad, bad - out.begin()));
  return out;
}

}  // namespace kvscope
