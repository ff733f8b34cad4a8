// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kvscope::test {

/// A safetensors file: u64 length, header as given, n_data bytes 0, 1, 2, ...
inline std::string safetensors(std::string_view header, std::size_t n_data) {
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes += static_cast<char>(header.size() >> (8 * i) & 0xff);
  bytes += header;
  for (std::size_t i = 0; i < n_data; ++i) bytes += static_cast<char>(i);
  return bytes;
}

struct TensorBytes {
  std::string name, dtype;
  std::vector<std::int64_t> shape;
  std::string bytes;
};

/// With these tensors, one after the other.
inline std::string safetensors(std::span<const TensorBytes> tensors) {
  std::string header = "{", data;
  for (const TensorBytes& t : tensors) {
    const std::size_t begin = data.size();
    data += t.bytes;
    header += fmt::format(R"({}"{}":{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})", header.size() > 1 ? "," : "", t.name, t.dtype,
                          fmt::join(t.shape, ","), begin, data.size());
  }
  return safetensors(header + "}", 0) + data;
}

/// As a file has it.
inline std::string bytes_of_float(float number) {
  std::string out(sizeof(number), '\0');
  std::memcpy(out.data(), &number, sizeof(number));
  return out;
}

inline std::span<const std::byte> as_bytes(std::string_view text) { return std::as_bytes(std::span(text)); }

}  // namespace kvscope::test
