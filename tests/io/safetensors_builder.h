// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace kvscope::test {

/// A safetensors file: u64 length, header as given, n_data bytes 0, 1, 2, ...
inline std::string safetensors(std::string_view header, std::size_t n_data) {
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes += static_cast<char>(header.size() >> (8 * i) & 0xff);
  bytes += header;
  for (std::size_t i = 0; i < n_data; ++i) bytes += static_cast<char>(i);
  return bytes;
}

inline std::span<const std::byte> as_bytes(std::string_view text) { return std::as_bytes(std::span(text)); }

}  // namespace kvscope::test
