// SPDX-License-Identifier: Apache-2.0
#include "policy/rankings/lag_ranking.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/not_available.h"
#include "policy/rankings/rows.h"

namespace kvscope {
namespace {

/// Adds to score [lag] half the softmax over the rows of std over channels of (x - min)/(max - min), minimum and maximum of each channel
/// over the reference rows. rows, reference: [lag, width].
void add_deviations(std::span<const double> rows, std::span<const double> reference, std::size_t width, std::span<double> score) {
  std::vector<double> low(reference.begin(), reference.begin() + static_cast<std::ptrdiff_t>(width)), high(low);
  for (std::size_t i = width; i < reference.size(); ++i) {
    low[i % width] = std::min(low[i % width], reference[i]);
    high[i % width] = std::max(high[i % width], reference[i]);
  }
  std::vector<double> deviation(score.size()), u(width);
  for (std::size_t r = 0; r < score.size(); ++r) {
    for (std::size_t c = 0; c < width; ++c) u[c] = high[c] > low[c] ? (rows[r * width + c] - low[c]) / (high[c] - low[c]) : 0.0;
    deviation[r] = moments(u).deviation;
  }
  softmax(deviation);
  for (std::size_t r = 0; r < score.size(); ++r) score[r] += deviation[r] / 2;
}

/// Rank of every score, 0 the lowest, divided by their number; of equal ones the later is the higher.
void put_ranks(std::span<double> scores) {
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return scores[a] < scores[b]; });
  for (std::size_t rank = 0; rank < order.size(); ++rank)
    scores[order[rank]] = static_cast<double>(rank) / static_cast<double>(order.size());
}

}  // namespace

std::vector<double> lag_scores(std::span<const double> keys, std::span<const double> values, std::size_t n, int sinks, int lag, bool cross,
                               std::span<double> of_keys, std::span<double> of_values) {
  const std::size_t first = std::min(n, static_cast<std::size_t>(sinks)), length = static_cast<std::size_t>(lag);
  std::vector<double> score(n, 1.0);
  if (n < first + 2 * length) {
    for (std::size_t i = first; i < n; ++i) score[i] = static_cast<double>(i - first) / static_cast<double>(n - first);
    return score;
  }
  const std::size_t width = keys.size() / n, n_parts = (n - first) / length;
  for (std::size_t part = 0; part + 1 < n_parts; ++part) {
    const auto rows_of = [&](std::span<const double> rows, std::size_t which) {
      return rows.subspan((first + which * length) * width, length * width);
    };
    const auto scores = std::span(score).subspan(first + part * length, length);
    std::ranges::fill(scores, 0.0);
    add_deviations(rows_of(keys, part), rows_of(keys, part + 1), width, scores);
    const std::vector<double> halves = of_keys.empty() ? std::vector<double>() : std::vector(scores.begin(), scores.end());
    add_deviations(rows_of(values, part), rows_of(values, part + 1), width, scores);
    for (std::size_t i = 0; i < halves.size(); ++i) {
      of_keys[first + part * length + i] = 2 * halves[i];
      of_values[first + part * length + i] = 2 * (scores[i] - halves[i]);
    }
    if (!cross) put_ranks(scores);
  }
  return score;
}

std::vector<double> LagRanking::score(const HeadView& head) const {
  std::vector<double> of_keys(head.terms ? head.slots->pos.size() : 0, kNotAvailable), of_values(of_keys);
  std::vector<double> score =
      lag_scores(all_keys(head), head.keys->values(), head.slots->pos.size(), sinks_, lag_, cross_, of_keys, of_values);
  if (head.terms) {
    head.note("keys", of_keys);
    head.note("values", of_values);
  }
  return score;
}

std::string LagRanking::equation() const {
  return cross_
             ? "(keys + values)/2: softmax over its stretch of how far it lies from the next stretch, in units of that one's range"
             : "place in its stretch by (keys + values)/2: softmax of how far it lies from the next stretch, in units of that one's range";
}

}  // namespace kvscope
