// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace kvscope {

/// SHA-256 (FIPS 180-4) of bytes that come in pieces.
class Sha256 {
 public:
  using Digest = std::array<std::uint8_t, 32>;

  void add(std::string_view bytes);
  /// Of all that was added; nothing may be added after it.
  Digest digest();

 private:
  void block(const std::uint8_t* bytes);

  std::array<std::uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<std::uint8_t, 64> waiting_{};  // the beginning of a block
  std::uint64_t n_bytes_ = 0;
};

Sha256::Digest sha256(std::string_view bytes);
/// 64 lower-case digits.
std::string hexadecimal(const Sha256::Digest& digest);

}  // namespace kvscope
