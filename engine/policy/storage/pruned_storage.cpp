// SPDX-License-Identifier: Apache-2.0
#include "policy/storage/pruned_storage.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/error.h"

namespace kvscope {
namespace {

std::vector<double> mean_squares(std::span<const double> rows, std::size_t width) {
  std::vector<double> out(width, 0.0);
  for (std::size_t i = 0; i < rows.size(); ++i) out[i % width] += rows[i] * rows[i];
  for (double& x : out) x /= static_cast<double>(rows.size() / width);
  return out;
}

std::size_t n_pruned(std::size_t width, double share) { return static_cast<std::size_t>(static_cast<double>(width) * share); }

}  // namespace

std::vector<char> pruned_channels(std::span<const double> keys, std::span<const double> queries, std::size_t width, double share) {
  std::vector<double> score = mean_squares(keys, width);
  const std::vector<double> q = mean_squares(queries, width);
  for (std::size_t c = 0; c < width; ++c) {
    score[c] *= q[c];
    if (std::isnan(score[c])) score[c] = -std::numeric_limits<double>::infinity();
  }
  std::vector<std::size_t> order(width);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) { return score[a] != score[b] ? score[a] < score[b] : a > b; });
  std::vector<char> goes(width, 0);
  for (std::size_t i = 0; i < n_pruned(width, share); ++i) goes[order[i]] = 1;
  return goes;
}

ToStore PrunedStorage::due(const SlotState& slots, bool after_prompt) const {
  return {.keys = after_prompt ? older_than(slots, 0, /*keys=*/true) : std::vector<int>{}, .values = {}};
}

void PrunedStorage::round_keys(const StoreSite& site, std::span<double> rows) const {
  KVSCOPE_ASSERT(site.queries);
  const auto width = static_cast<std::size_t>(site.head_dim);
  const std::vector<double> all = site.queries->rows(/*rotated=*/true);
  const std::size_t group = static_cast<std::size_t>(site.group), n = all.size() / (width * group);
  const std::size_t seen = std::min(static_cast<std::size_t>(window_), n) * group * width;
  const std::vector<char> goes = pruned_channels(rows, std::span(all).last(seen), width, share_);
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (goes[i % width]) rows[i] = 0;
}

StoredCounts PrunedStorage::of_prompt(int n) const { return {.n = n, .keys = n, .values = 0, .blocks = n > 0 ? 1 : 0}; }

std::string PrunedStorage::equation() const {
  return fmt::format("k′ = 0 in the {:g} % of channels where mean q² · mean k² is lowest (last {} queries)", 100 * share_, window_);
}

double PrunedStorage::bytes(const StoredCounts& of, int head_dim, double full) const {
  const double gone = static_cast<double>(n_pruned(static_cast<std::size_t>(head_dim), share_));
  const double which = of.keys > 0 ? (head_dim + 7) / 8 : 0;  // a bit per channel
  return full * (2.0 * head_dim * of.n - gone * of.keys) + which;
}

std::optional<double> PrunedStorage::fitting(double room, int n, int head_dim, double full) const {
  for (int gone = 0; gone < head_dim; ++gone) {
    double share = 1.0 * gone / head_dim;
    while (n_pruned(static_cast<std::size_t>(head_dim), share) < static_cast<std::size_t>(gone)) share = std::nextafter(share, 1.0);
    if (const PrunedStorage with(share, window_); with.bytes(with.of_prompt(n), head_dim, full) <= room) return share;
  }
  return std::nullopt;
}

double PrunedStorage::least_bytes(int n, int head_dim, double full) const {
  const PrunedStorage most((head_dim - 1.0) / head_dim, window_);  // one channel of the keys stays
  return most.bytes(most.of_prompt(n), head_dim, full);
}

}  // namespace kvscope
