// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

// Loops over many small counts, compiled for every width of vectors.
namespace kvscope::viz {

/// out[i] = sum of counts[i * group + j] over j < group. `counts` has at least out.size() * group numbers; group >= 1.
void group_sums(std::span<const std::uint16_t> counts, std::size_t group, std::span<std::uint32_t> out);
/// sum[i] += x[i], for as many as `sum` has.
void add_counts(std::span<std::uint32_t> sum, std::span<const std::uint32_t> x);
/// low[i] = min(low[i], x[i]) and high[i] = max(high[i], x[i]).
void bound_counts(std::span<std::uint32_t> low, std::span<std::uint32_t> high, std::span<const std::uint32_t> x);
/// The bits of `words` (lowest first) in groups of `group`, a power of two: out[i] = how many are set in group first + i; 0 after
/// the last word.
void bit_counts(std::span<const std::uint64_t> words, std::size_t group, std::size_t first, std::span<std::uint32_t> out);
void bit_counts(std::span<const std::uint64_t> words, std::size_t group, std::size_t first, std::span<std::uint16_t> out);
/// Bit k is set where x[k] > limit, and n[k] grows by one there. 64 numbers each.
std::uint64_t greater_bits(std::span<const int, 64> x, int limit, std::span<int, 64> n);
/// Bits set in both, of as many words as `a` has.
std::int64_t common_bits(std::span<const std::uint64_t> a, std::span<const std::uint64_t> b);

}  // namespace kvscope::viz
