// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/host_device.h"

namespace kvscope {

/// How numbers lie in memory. From q8_0 on weights only: a block of numbers shares its scales (core/dequantise.h).
enum class DType : std::uint8_t { f32, f64, f16, bf16, q8_0, q4_0, q5_0, q4_k, q5_k, q6_k, iq4_nl };

/// The least that can be stored: so many numbers in so many bytes.
struct Block {
  std::size_t numbers = 1;
  std::size_t bytes = 0;
};

KVSCOPE_HOST_DEVICE constexpr Block block_of(DType t) {
  switch (t) {
    case DType::f32:
      return {1, 4};
    case DType::f64:
      return {1, 8};
    case DType::f16:
    case DType::bf16:
      return {1, 2};
    case DType::q8_0:
      return {32, 34};
    case DType::q4_0:
    case DType::iq4_nl:
      return {32, 18};
    case DType::q5_0:
      return {32, 22};
    case DType::q4_k:
      return {256, 144};
    case DType::q5_k:
      return {256, 176};
    case DType::q6_k:
      return {256, 210};
  }
  return {};
}

constexpr bool is_quantised(DType t) { return block_of(t).numbers > 1; }

/// Bytes of n numbers, which are whole blocks.
constexpr std::size_t bytes_of(DType t, std::size_t n) { return n / block_of(t).numbers * block_of(t).bytes; }

/// Bytes of one number; of no quantised type.
constexpr std::size_t size_of(DType t) { return t == DType::f64 ? 8 : t == DType::f32 ? 4 : 2; }

constexpr std::string_view name_of(DType t) {
  constexpr std::string_view kNames[] = {"f32", "f64", "f16", "bf16", "Q8_0", "Q4_0", "Q5_0", "Q4_K", "Q5_K", "Q6_K", "IQ4_NL"};
  return kNames[static_cast<std::size_t>(t)];
}

}  // namespace kvscope
