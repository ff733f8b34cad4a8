// SPDX-License-Identifier: Apache-2.0
#include "policy/storage/grouped_storage.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"

namespace kvscope {

void round_group(double* x, std::size_t n, std::size_t stride, int bits) {
  double lo = x[0], hi = x[0];
  for (std::size_t i = 0; i < n; ++i) {
    if (!std::isfinite(x[i * stride])) return;
    lo = std::min(lo, x[i * stride]);
    hi = std::max(hi, x[i * stride]);
  }
  const double most = std::exp2(bits) - 1, scale = (hi - lo) / most;
  if (!(scale > 0) || !std::isfinite(scale)) return;  // all alike: the smallest says it all
  for (std::size_t i = 0; i < n; ++i) {
    double& number = x[i * stride];
    number = lo + scale * std::clamp(std::floor((number - lo) / scale + 0.5), 0.0, most);
  }
}

GroupedStorage::GroupedStorage(int bits, int group, int residual) : bits_(bits), group_(group), residual_(residual) {
  if (residual % group != 0)
    throw UsageError(fmt::format(
        "tokens in full precision: expected a multiple of the group of {} tokens whose keys are stored together, got {}", group, residual));
}

ToStore GroupedStorage::due(const SlotState& slots, bool /*after_prompt*/) const {
  ToStore out{.keys = older_than(slots, 0, /*keys=*/true), .values = older_than(slots, residual_, /*keys=*/false)};
  const std::size_t at_a_time = static_cast<std::size_t>(keys_at_a_time());
  out.keys.resize(out.keys.size() / at_a_time * at_a_time);
  return out;
}

void GroupedStorage::round_keys(const StoreSite& site, std::span<double> rows) const {
  const auto width = static_cast<std::size_t>(site.head_dim), group = static_cast<std::size_t>(group_);
  for (std::size_t first = 0; first < rows.size(); first += width * group)
    for (std::size_t c = 0; c < width; ++c) round_group(&rows[first + c], group, width, bits_);
}

void GroupedStorage::round_values(const StoreSite& site, std::span<double> rows) const {
  const auto width = static_cast<std::size_t>(site.head_dim), group = static_cast<std::size_t>(group_);
  for (std::size_t first = 0; first < rows.size(); first += width)
    for (std::size_t c = 0; c < width; c += group) round_group(&rows[first + c], std::min(group, width - c), 1, bits_);
}

StoredCounts GroupedStorage::of_prompt(int n) const {
  const int keys = n / keys_at_a_time() * keys_at_a_time();
  return {.n = n, .keys = keys, .values = std::max(0, n - residual_), .blocks = keys / group_};
}

std::string GroupedStorage::equation() const {
  return fmt::format(
      "x′ = lo + s · round((x − lo) / s), s = (hi − lo) / {}: keys per channel over {} tokens, values per token over {} channels",
      (1 << bits_) - 1, group_, group_);
}

double GroupedStorage::bytes(const StoredCounts& of, int head_dim, double full) const {
  constexpr double kScaleAndLowest = 4;  // two numbers of 16 bits
  const double row = head_dim * bits_ / 8.0;
  const int groups_of_value = (head_dim + group_ - 1) / group_;
  return full * head_dim * (2 * of.n - of.keys - of.values) + row * (of.keys + of.values) +
         kScaleAndLowest * (static_cast<double>(of.blocks) * head_dim + static_cast<double>(of.values) * groups_of_value);
}

std::optional<double> GroupedStorage::fitting(double room, int n, int head_dim, double full) const {
  for (int residual = n / group_ * group_; residual >= 0; residual -= group_)
    if (const GroupedStorage with(bits_, group_, residual); with.bytes(with.of_prompt(n), head_dim, full) <= room) return residual;
  return std::nullopt;
}

/// Not always with the fewest tokens in full: a prompt's last keys may fill up a group, or not.
double GroupedStorage::least_bytes(int n, int head_dim, double full) const {
  double least = 2.0 * full * head_dim * n;
  for (int residual = n / group_ * group_; residual >= 0; residual -= group_) {
    const GroupedStorage with(bits_, group_, residual);
    least = std::min(least, with.bytes(with.of_prompt(n), head_dim, full));
  }
  return least;
}

}  // namespace kvscope
