// SPDX-License-Identifier: Apache-2.0
#pragma once

// Blocks of quantised weights as floats, for one instruction set; included after simd_*.h, before dots_body.h. The bits of every number are
// those of core/dequantise.h, which says what the blocks hold. A block's codes become bytes in the L1 cache, and these floats.

#include <cstdint>

#include "backend/cpu/kernels.h"
#include "core/dequantise.h"

namespace kvscope::cpu::KVSCOPE_ISA {
namespace {

using Codes = std::int8_t;

/// Sixteen bytes in the compiler's own vector extension: loops over so few are unrolled into single bytes before they become vectors.
typedef std::uint8_t Bytes __attribute__((vector_size(16)));
typedef std::uint64_t Words __attribute__((vector_size(16)));

[[gnu::always_inline]] inline Bytes bytes_at(const std::uint8_t* p) {
  Bytes v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}
[[gnu::always_inline]] inline void put(Codes* to, Bytes v) { __builtin_memcpy(to, &v, sizeof v); }

/// 16 where the bit of the place in sixteen bits is set, else 0.
[[gnu::always_inline]] inline Bytes fifth_bits(const std::uint8_t* p) {
  constexpr std::uint64_t kEach = 0x0101010101010101u;
  const Words words = {p[0] * kEach, p[1] * kEach};
  const Bytes v = reinterpret_cast<Bytes>(words);
  const Bytes bit = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
  return reinterpret_cast<Bytes>((v & bit) == bit) & 16;
}

/// half_to_float of core/half.h, without its branches: 2^112 moves the exponent, and is exact for subnormals too.
[[gnu::always_inline]] inline float float_of_half(const std::uint8_t* p) {
  const std::uint32_t bits = static_cast<std::uint32_t>(p[0] | p[1] << 8);
  const std::uint32_t magnitude = (bits & 0x7fff) << 13, sign = (bits & 0x8000) << 16;
  const bool finite = (bits & 0x7c00) != 0x7c00;
  const std::uint32_t infinite = sign | magnitude | 0x7f800000;
  float out, rest;
  __builtin_memcpy(&out, &magnitude, 4);
  out *= 0x1p112f;
  std::uint32_t word;
  __builtin_memcpy(&word, &out, 4);
  word = finite ? word | sign : infinite;
  __builtin_memcpy(&rest, &word, 4);
  return rest;
}

/// out = codes * scale.
template <int n>
[[gnu::always_inline]] inline void scaled(const Codes* codes, float scale, float* out) {
  __asm__("" ::"r"(codes) : "memory");  // else the compiler takes codes that were just made apart byte by byte
  const F::V d = F::set1(scale);
#pragma GCC unroll 8
  for (int i = 0; i < n; i += F::kLanes) F::store(out + i, F::load(codes + i) * d);
}

struct Q8Block {
  static constexpr int kNumbers = 32, kBytes = 34;
  static void decode(const std::uint8_t* p, float* out) { scaled<32>(reinterpret_cast<const Codes*>(p + 2), float_of_half(p), out); }
};

struct Q4Block {
  static constexpr int kNumbers = 32, kBytes = 18;
  static void decode(const std::uint8_t* p, float* out) {
    alignas(32) Codes codes[32];
    const Bytes pairs = bytes_at(p + 2);
    put(codes, (pairs & 15) - 8);
    put(codes + 16, (pairs >> 4) - 8);
    scaled<32>(codes, float_of_half(p), out);
  }
};

struct Iq4Block {
  static constexpr int kNumbers = 32, kBytes = 18;
  static void decode(const std::uint8_t* p, float* out) {
    alignas(32) Codes codes[32];
#if defined(__SSSE3__)
    const __m128i values = _mm_loadu_si128(reinterpret_cast<const __m128i*>(kIq4Values));
    const Bytes pairs = bytes_at(p + 2);
    put(codes, reinterpret_cast<Bytes>(_mm_shuffle_epi8(values, reinterpret_cast<__m128i>(pairs & 15))));
    put(codes + 16, reinterpret_cast<Bytes>(_mm_shuffle_epi8(values, reinterpret_cast<__m128i>(pairs >> 4))));
#else
    for (int i = 0; i < 16; ++i) codes[i] = kIq4Values[p[2 + i] & 15];
    for (int i = 0; i < 16; ++i) codes[16 + i] = kIq4Values[p[2 + i] >> 4];
#endif
    scaled<32>(codes, float_of_half(p), out);
  }
};

struct Q5Block {
  static constexpr int kNumbers = 32, kBytes = 22;
  static void decode(const std::uint8_t* p, float* out) {
    alignas(32) Codes codes[32];
    const Bytes pairs = bytes_at(p + 6);
    put(codes, ((pairs & 15) | fifth_bits(p + 2)) - 16);
    put(codes + 16, ((pairs >> 4) | fifth_bits(p + 4)) - 16);
    scaled<32>(codes, float_of_half(p), out);
  }
};

/// Q4_K and Q5_K: codes of 4 bits, or with a fifth from `fifth`.
template <bool five>
[[gnu::always_inline]] inline void decode_k(const std::uint8_t* p, const std::uint8_t* fifth, const std::uint8_t* pairs, float* out) {
  const float d = float_of_half(p), least = float_of_half(p + 2);
  const std::uint8_t* const s = p + 4;
  float scales[8], minima[8];
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    scales[i] = d * static_cast<float>(s[i] & 63);
    minima[i] = least * static_cast<float>(s[4 + i] & 63);
    scales[4 + i] = d * static_cast<float>((s[8 + i] & 15) | (s[i] >> 6) << 4);
    minima[4 + i] = least * static_cast<float>((s[8 + i] >> 4) | (s[4 + i] >> 6) << 4);
  }
  for (int pair = 0; pair < 4; ++pair, pairs += 32, out += 64) {
    alignas(32) Codes codes[64];
    if constexpr (five) {
      const std::uint8_t first = static_cast<std::uint8_t>(1 << (2 * pair)), second = static_cast<std::uint8_t>(2 << (2 * pair));
      for (int i = 0; i < 32; ++i) codes[i] = static_cast<Codes>((pairs[i] & 15) | ((fifth[i] & first) != 0 ? 16 : 0));
      for (int i = 0; i < 32; ++i) codes[32 + i] = static_cast<Codes>((pairs[i] >> 4) | ((fifth[i] & second) != 0 ? 16 : 0));
    } else {
      for (int i = 0; i < 32; ++i) codes[i] = static_cast<Codes>(pairs[i] & 15);
      for (int i = 0; i < 32; ++i) codes[32 + i] = static_cast<Codes>(pairs[i] >> 4);
    }
#pragma GCC unroll 2
    for (int half = 0; half < 2; ++half) {
      const F::V scale = F::set1(scales[2 * pair + half]), minimum = F::set1(minima[2 * pair + half]);
#pragma GCC unroll 8
      for (int i = 0; i < 32; i += F::kLanes) F::store(out + half * 32 + i, F::load(codes + half * 32 + i) * scale - minimum);
    }
  }
}

struct Q4KBlock {
  static constexpr int kNumbers = 256, kBytes = 144;
  static void decode(const std::uint8_t* p, float* out) { decode_k<false>(p, nullptr, p + 16, out); }
};

struct Q5KBlock {
  static constexpr int kNumbers = 256, kBytes = 176;
  static void decode(const std::uint8_t* p, float* out) { decode_k<true>(p, p + 16, p + 48, out); }
};

struct Q6KBlock {
  static constexpr int kNumbers = 256, kBytes = 210;
  static void decode(const std::uint8_t* p, float* out) {
    const float d = float_of_half(p + 208);
    for (int half = 0; half < 2; ++half, out += 128) {
      const std::uint8_t *const pairs = p + half * 64, *const bits = p + 128 + half * 32;
      const auto* const scales = reinterpret_cast<const Codes*>(p + 192 + half * 8);
      alignas(32) Codes codes[128];
      for (int i = 0; i < 32; ++i) codes[i] = static_cast<Codes>(((pairs[i] & 15) | (bits[i] & 3) << 4) - 32);
      for (int i = 0; i < 32; ++i) codes[32 + i] = static_cast<Codes>(((pairs[32 + i] & 15) | (bits[i] >> 2 & 3) << 4) - 32);
      for (int i = 0; i < 32; ++i) codes[64 + i] = static_cast<Codes>(((pairs[i] >> 4) | (bits[i] >> 4 & 3) << 4) - 32);
      for (int i = 0; i < 32; ++i) codes[96 + i] = static_cast<Codes>(((pairs[32 + i] >> 4) | (bits[i] >> 6) << 4) - 32);
#pragma GCC unroll 8
      for (int g = 0; g < 8; ++g) scaled<16>(codes + g * 16, d * static_cast<float>(scales[g]), out + g * 16);
    }
  }
};

/// Rows of whole blocks, `ldw` numbers apart.
template <class Q>
struct BlockRows {
  const std::uint8_t* w;
  long ldw;

  /// Numbers [first, first + n) of a row: whole blocks.
  void floats(int row, int first, int n, float* out) const {
    const std::uint8_t* p = w + place(row, first);
    for (int i = 0; i < n; i += Q::kNumbers, p += Q::kBytes) Q::decode(p, out + i);
  }
  /// Asks memory for these numbers; a row may lie behind the matrix, where that does nothing.
  [[gnu::always_inline]] void ask_for(int row, int first, int n) const {
    const std::uintptr_t p = reinterpret_cast<std::uintptr_t>(w) + static_cast<std::uintptr_t>(place(row, first));
    const unsigned bytes = static_cast<unsigned>(n / Q::kNumbers * Q::kBytes);
    for (unsigned at = 0; at < bytes; at += 64) __builtin_prefetch(reinterpret_cast<const void*>(p + at));
  }

 private:
  long place(int row, int first) const { return (row * ldw + first) / Q::kNumbers * Q::kBytes; }
};

/// f(Q{}) with the block of a quantised type; false: the type is not quantised.
template <class Function>
[[gnu::always_inline]] inline bool with_block(DType type, const Function& f) {
  switch (type) {
    case DType::q8_0:
      return f(Q8Block{}), true;
    case DType::q4_0:
      return f(Q4Block{}), true;
    case DType::iq4_nl:
      return f(Iq4Block{}), true;
    case DType::q5_0:
      return f(Q5Block{}), true;
    case DType::q4_k:
      return f(Q4KBlock{}), true;
    case DType::q5_k:
      return f(Q5KBlock{}), true;
    case DType::q6_k:
      return f(Q6KBlock{}), true;
    default:
      return false;
  }
}

}  // namespace
}  // namespace kvscope::cpu::KVSCOPE_ISA
