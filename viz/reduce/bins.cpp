// SPDX-License-Identifier: Apache-2.0
#include "viz/reduce/bins.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "core/vector_math.h"

namespace kvscope::viz {
namespace {

KVSCOPE_EVERY_WIDTH void widen_counts(const std::uint16_t* in, std::size_t n, std::uint32_t* out) {
  for (std::size_t i = 0; i < n; ++i) out[i] = in[i];
}

// Both halves of a word of two counts: loads in order, without a shuffle.
KVSCOPE_EVERY_WIDTH void pair_sums(const std::uint16_t* in, std::size_t n, std::uint32_t* out) {
  for (std::size_t i = 0; i < n; ++i) {
    std::uint32_t two;
    std::memcpy(&two, in + 2 * i, sizeof two);
    out[i] = (two & 0xFFFF) + (two >> 16);
  }
}

KVSCOPE_EVERY_WIDTH void pair_sums(const std::uint32_t* in, std::size_t n, std::uint32_t* out) {
  for (std::size_t i = 0; i < n; ++i) {
    std::uint64_t two;
    std::memcpy(&two, in + 2 * i, sizeof two);
    out[i] = static_cast<std::uint32_t>(two) + static_cast<std::uint32_t>(two >> 32);
  }
}

KVSCOPE_EVERY_WIDTH void add_all(std::uint32_t* sum, const std::uint32_t* x, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) sum[i] += x[i];
}

KVSCOPE_EVERY_WIDTH void bound_all(std::uint32_t* low, std::uint32_t* high, const std::uint32_t* x, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    low[i] = std::min(low[i], x[i]);
    high[i] = std::max(high[i], x[i]);
  }
}

KVSCOPE_EVERY_WIDTH std::int64_t common(const std::uint64_t* a, const std::uint64_t* b, std::size_t n) {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < n; ++i) sum += std::popcount(a[i] & b[i]);
  return sum;
}

// How many bits are set in every field of `group` bits, in that field: adjacent sums, twice as wide each time.
[[gnu::always_inline]] inline std::uint64_t sums_in_fields(std::uint64_t x, std::size_t group) {
  constexpr std::uint64_t kMasks[] = {0x5555555555555555ull, 0x3333333333333333ull, 0x0F0F0F0F0F0F0F0Full,
                                      0x00FF00FF00FF00FFull, 0x0000FFFF0000FFFFull, 0x00000000FFFFFFFFull};
  int k = 0;
  for (std::size_t width = 2; width <= group; width *= 2, ++k) x = (x & kMasks[k]) + (x >> (width / 2) & kMasks[k]);
  return x;
}

template <class Field, class Out>
[[gnu::always_inline]] inline void count_fields(const std::uint64_t* words, std::size_t n_words, std::size_t first, Out* out,
                                                std::size_t n) {
  constexpr std::size_t kPiece = 64, kPerWord = 8 / sizeof(Field);
  std::uint64_t sums[kPiece];
  Field fields[kPiece * kPerWord];
  for (std::size_t i = 0; i < n;) {
    const std::size_t word = (first + i) / kPerWord, skip = (first + i) % kPerWord;
    const std::size_t n_here = std::min(kPiece * kPerWord - skip, n - i);
    const std::size_t known = word < n_words ? std::min(kPiece, n_words - word) : 0;
    for (std::size_t w = 0; w < known; ++w) sums[w] = sums_in_fields(words[word + w], 8 * sizeof(Field));
    std::fill(sums + known, sums + kPiece, 0);
    std::memcpy(fields, sums, sizeof fields);
    for (std::size_t k = 0; k < n_here; ++k) out[i + k] = static_cast<Out>(fields[skip + k]);
    i += n_here;
  }
}

template <class Out>
[[gnu::always_inline]] inline void count_bits(const std::uint64_t* words, std::size_t n_words, std::size_t group, std::size_t first,
                                              Out* out, std::size_t n) {
  if (group > 64) {
    const std::size_t per = group / 64;
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t from = (first + i) * per, end = std::min(from + per, n_words);
      int sum = 0;
      for (std::size_t w = from; w < end; ++w) sum += std::popcount(words[w]);
      out[i] = static_cast<Out>(sum);
    }
    return;
  }
  if constexpr (std::endian::native == std::endian::little) {  // of wider groups the processor counts one at a time as fast
    if (group == 8) return count_fields<std::uint8_t>(words, n_words, first, out, n);
    if (group == 16) return count_fields<std::uint16_t>(words, n_words, first, out, n);
  }
  const std::uint64_t mask = group == 64 ? ~0ull : (1ull << group) - 1;
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t from = (first + i) * group, word = from / 64;
    out[i] = word < n_words ? static_cast<Out>(std::popcount(words[word] >> (from % 64) & mask)) : Out{0};
  }
}

KVSCOPE_EVERY_WIDTH void count_bits_32(const std::uint64_t* words, std::size_t n_words, std::size_t group, std::size_t first,
                                       std::uint32_t* out, std::size_t n) {
  count_bits(words, n_words, group, first, out, n);
}

KVSCOPE_EVERY_WIDTH void count_bits_16(const std::uint64_t* words, std::size_t n_words, std::size_t group, std::size_t first,
                                       std::uint16_t* out, std::size_t n) {
  count_bits(words, n_words, group, first, out, n);
}

// The lowest bit of each of eight bytes that are 0 or 1, as one byte.
[[gnu::always_inline]] inline std::uint64_t pack(const std::uint8_t* bytes) {
  std::uint64_t x;
  std::memcpy(&x, bytes, sizeof x);
  if constexpr (std::endian::native == std::endian::big) x = __builtin_bswap64(x);
  return (x * 0x0102040810204080ull) >> 56;
}

KVSCOPE_EVERY_WIDTH std::uint64_t greater(const int* x, int limit, int* n) {
  std::uint8_t is[64];
  for (int k = 0; k < 64; ++k) is[k] = x[k] > limit;
  for (int k = 0; k < 64; ++k) n[k] += x[k] > limit;
  std::uint64_t word = 0;
  for (int k = 0; k < 8; ++k) word |= pack(is + 8 * k) << (8 * k);
  return word;
}

}  // namespace

void bit_counts(std::span<const std::uint64_t> words, std::size_t group, std::size_t first, std::span<std::uint32_t> out) {
  count_bits_32(words.data(), words.size(), group, first, out.data(), out.size());
}

void bit_counts(std::span<const std::uint64_t> words, std::size_t group, std::size_t first, std::span<std::uint16_t> out) {
  count_bits_16(words.data(), words.size(), group, first, out.data(), out.size());
}

std::uint64_t greater_bits(std::span<const int, 64> x, int limit, std::span<int, 64> n) { return greater(x.data(), limit, n.data()); }

void group_sums(std::span<const std::uint16_t> counts, std::size_t group, std::span<std::uint32_t> out) {
  if (group == 1) return widen_counts(counts.data(), out.size(), out.data());
  if (group == 2) return pair_sums(counts.data(), out.size(), out.data());
  constexpr std::size_t kPiece = 1024;
  if (std::has_single_bit(group) && group <= kPiece) {  // pairs of pairs, piece by piece so that they stay in the cache
    std::uint32_t sums[kPiece];
    const std::size_t per_piece = 2 * kPiece / group;
    for (std::size_t from = 0; from < out.size(); from += per_piece) {
      const std::size_t n = std::min(per_piece, out.size() - from);
      pair_sums(counts.data() + from * group, n * group / 2, sums);
      for (std::size_t left = group / 2; left > 1; left /= 2) pair_sums(sums, n * left / 2, sums);
      std::copy_n(sums, n, out.data() + from);
    }
    return;
  }
  for (std::size_t i = 0; i < out.size(); ++i) {
    std::uint32_t sum = 0;
    for (std::size_t j = 0; j < group; ++j) sum += counts[i * group + j];
    out[i] = sum;
  }
}

void add_counts(std::span<std::uint32_t> sum, std::span<const std::uint32_t> x) { add_all(sum.data(), x.data(), sum.size()); }

void bound_counts(std::span<std::uint32_t> low, std::span<std::uint32_t> high, std::span<const std::uint32_t> x) {
  bound_all(low.data(), high.data(), x.data(), x.size());
}

std::int64_t common_bits(std::span<const std::uint64_t> a, std::span<const std::uint64_t> b) {
  return common(a.data(), b.data(), a.size());
}

}  // namespace kvscope::viz
