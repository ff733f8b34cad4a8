// SPDX-License-Identifier: Apache-2.0
#include "policy/rules.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "core/error.h"
#include "core/from_chars.h"

namespace kvscope {

int round_half_up(double x) { return static_cast<int>(std::clamp(std::floor(x + 0.5), -1e9, 1e9)); }

int count_or_fraction(std::string_view value, int c) {
  if (value.find('.') == std::string_view::npos) return number_from<int>(value).value();
  return round_half_up(number_from<double>(value).value() * c);
}

std::vector<int> largest_remainder(std::span<const double> shares, int total, std::span<const int> caps) {
  constexpr std::int64_t kOne = 1'000'000'000;
  const std::size_t n = shares.size();
  std::vector<std::int64_t> nano(n);
  std::vector<int> out(n);
  const auto cap = [&](std::size_t i) { return caps.empty() ? total : caps[i]; };
  std::int64_t left = total;
  for (std::size_t i = 0; i < n; ++i) {
    nano[i] = static_cast<std::int64_t>(std::floor(shares[i] * 1e9 + 0.5));
    out[i] = static_cast<int>(std::min<std::int64_t>(nano[i] / kOne, cap(i)));
    left -= out[i];
  }
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return nano[a] % kOne > nano[b] % kOne; });
  bool room = true;
  while (left > 0 && room) {
    room = false;
    for (const std::size_t i : order) {
      if (left == 0 || out[i] >= cap(i)) continue;
      ++out[i];
      --left;
      room = true;
    }
  }
  return out;
}

std::uint64_t splitmix64(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

double uniform_draw(std::uint64_t seed, int step, int layer, int kv_head, int e) {
  const auto times = [](std::uint64_t factor, int count) { return factor * static_cast<std::uint64_t>(count); };
  const std::uint64_t key = seed + times(0x9E3779B97F4A7C15u, 1 + step) + times(0xBF58476D1CE4E5B9u, 1 + layer) +
                            times(0x94D049BB133111EBu, 1 + kv_head) + times(0xD6E8FEB86659FD93u, e);
  return static_cast<double>(splitmix64(key) >> 11) * 0x1p-53;
}

double normal_draw(std::uint64_t seed, int layer, int kv_head, std::size_t e, double divisor) {
  const auto draw = [&](std::size_t i) { return uniform_draw(seed, 0, layer, kv_head, static_cast<int>(i)); };
  return std::sqrt(-2 * std::log(1 - draw(2 * e)) / divisor) * std::cos(2 * std::numbers::pi * draw(2 * e + 1));
}

}  // namespace kvscope
