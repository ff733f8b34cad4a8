// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/host_numbers.h"

#include <cstring>
#include <memory>

#include "backend/cuda/kernels/types.h"
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

void from_double(Device& device, void* to, std::span<const double> host) {
  with_host_type(device.type(), [&](auto t) {
    using T = decltype(t);
    std::vector<T> values(host.size());
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = from_float<T>(static_cast<float>(host[i]));
    const auto held = device.lock();
    device.upload(to, values.data(), values.size() * sizeof(T));
  });
}

void to_double(Device& device, std::span<double> host, const void* from) {
  with_host_type(device.type(), [&](auto t) {
    using T = decltype(t);
    const std::size_t bytes = host.size() * sizeof(T);
    std::unique_ptr<std::byte[]> own;
    const std::byte* values = bytes == 0 ? nullptr : device.brought(from, bytes);
    if (!values) {
      own = std::make_unique_for_overwrite<std::byte[]>(bytes);
      const auto held = device.lock();
      device.download(own.get(), from, bytes);
      values = own.get();
    }
    for (std::size_t i = 0; i < host.size(); ++i) {
      T x;
      std::memcpy(&x, values + i * sizeof(T), sizeof(T));
      host[i] = static_cast<double>(to_float(x));
    }
  });
}

}  // namespace kvscope::cuda
