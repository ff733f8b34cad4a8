// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "backend/backend.h"
#include "core/dequantise.h"

namespace kvscope::test {

/// Random blocks with scales around 0.01, and their numbers.
struct Blocks {
  Blocks(DType of, int rows, int columns, unsigned seed) : type(of), out(rows), in(columns) {
    const std::size_t n = static_cast<std::size_t>(out) * static_cast<std::size_t>(in);
    bytes.resize(bytes_of(type, n));
    std::mt19937 random(seed);
    for (std::uint8_t& b : bytes) b = static_cast<std::uint8_t>(random());
    const Block block = block_of(type);
    for (std::size_t at = 0; at < bytes.size(); at += block.bytes) {
      const auto scale = [&](std::size_t place) {
        const auto bits = static_cast<std::uint16_t>((random() & 0x8000) | (0x1400 + random() % 0x1000));
        std::memcpy(bytes.data() + at + place, &bits, 2);
      };
      scale(type == DType::q6_k ? 208 : 0);
      if (type == DType::q4_k || type == DType::q5_k) scale(2);
    }
    numbers.resize(n);
    dequantise(type, bytes.data(), n, numbers.data());
  }
  Weight blocks(Backend& b) const { return b.weight(type, out, in, bytes.data()); }
  Weight plain(Backend& b) const { return b.weight(DType::f32, out, in, numbers.data()); }

  DType type;
  int out, in;
  std::vector<std::uint8_t> bytes;
  std::vector<float> numbers;
};

}  // namespace kvscope::test
