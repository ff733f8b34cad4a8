// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/host_numbers.h"

#include <cstring>

#include "backend/cuda/types.h"
#include "core/dequantise.h"

namespace kvscope::cuda {

HostNumbers numbers_for_kernels(DType type, const void* host, std::size_t n, DType computes_in) {
  std::vector<float> numbers(n);
  if (is_quantised(type)) {
    dequantise(type, host, n, numbers.data());
  } else {
    std::vector<double> wide(n);
    std::memcpy(wide.data(), host, n * size_of(type));
    for (std::size_t i = 0; i < n; ++i) numbers[i] = static_cast<float>(wide[i]);
    computes_in = DType::f32;
  }
  HostNumbers out{computes_in, std::vector<std::byte>(n * size_of(computes_in))};
  with_host_type(computes_in, [&](auto t) {
    using T = decltype(t);
    for (std::size_t i = 0; i < n; ++i) {
      const T x = from_float<T>(numbers[i]);
      std::memcpy(out.bytes.data() + i * sizeof(T), &x, sizeof(T));
    }
  });
  return out;
}

}  // namespace kvscope::cuda
