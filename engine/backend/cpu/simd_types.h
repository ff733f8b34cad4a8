// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the three instruction sets have in common. Each simd_*.h defines, in an unnamed namespace (so that no function compiled for a
// newer processor can be merged with one of the same name elsewhere), two structs F (float) and D (double) with
//   T, V, kLanes, kTileRows, kTileVectors, kPackedRows (0: dots_packed does not pay): tile sizes that just fit the registers
//   zero, set1, load (of float, double, Half, Bfloat; F also of int8), load_part (n < kLanes values, zero beyond), store, store_part
//   fma(a, b, c) = a b + c, max, sum (lanes added in halves), sum4 (four of them at once, the same order), for F: exp, for D: add_where.

#include <cstdint>

namespace kvscope::cpu {

struct Half {
  std::uint16_t bits;
};
struct Bfloat {
  std::uint16_t bits;
};

// exp(r) = 1 + r + r^2 (c0 + c1 r + ... + c4 r^4) on |r| <= ln(2) / 2: weighted least-squares fit driven to equal ripple, relative
// error 3.1e-9 (2^-28) before rounding.
inline constexpr float kExp0 = 0x1.fffffcp-2f, kExp1 = 0x1.555492p-3f, kExp2 = 0x1.5558f2p-5f, kExp3 = 0x1.123a2p-7f,
                       kExp4 = 0x1.6a23cep-10f;
inline constexpr float kLog2e = 0x1.715476p+0f;
inline constexpr float kLn2High = 0x1.63p-1f, kLn2Low = -0x1.bd0106p-13f;  // the product n * kLn2High is exact
inline constexpr float kExpLow = -104.0f, kExpHigh = 89.0f;                // results are 0 and infinity there

}  // namespace kvscope::cpu
