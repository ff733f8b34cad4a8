// SPDX-License-Identifier: Apache-2.0
#include "policy/rankings/redundancy_ranking.h"

#include <fmt/format.h>

#include <cmath>
#include <numeric>

#include "core/not_available.h"
#include "core/vector_math.h"
#include "policy/rankings/rows.h"

namespace kvscope {

std::vector<double> window_importance(const LogMeanRows& z, int rows, std::size_t ranked) {
  const auto group = static_cast<std::size_t>(z.ring().width());
  const int last = z.rows(), first = std::max(0, last - rows);
  std::vector<double> mean(ranked, 0.0), largest(ranked);
  for (int r = first; r < last; ++r) {
    const std::vector<double> row = z.row(r);
    for (std::size_t i = 0; i < ranked; ++i) largest[i] = *std::ranges::max_element(std::span(row).subspan(i * group, group));
    softmax(largest);
    for (std::size_t i = 0; i < ranked; ++i) mean[i] += largest[i] / (last - first);
  }
  return mean;
}

namespace {

/// Of every slot the newest other one whose direction is more alike than `similar`; 0 where there is none. unit [n, width]. Columns are
/// looked at from the newest on, so that a slot is asked no further once it has found its own.
std::vector<std::size_t> newest_alike(std::span<const double> unit, std::size_t n, double similar) {
  constexpr std::size_t kColumns = 64, kRows = 16;
  const std::size_t width = unit.size() / n;
  std::vector<std::size_t> newest(n, 0), looking(n);
  std::iota(looking.begin(), looking.end(), std::size_t{0});
  std::vector<double> columns(width * kColumns), rows(kRows * width), cosines(kRows * kColumns);
  for (std::size_t end = n; end > 0 && !looking.empty(); end -= std::min(end, kColumns)) {
    const std::size_t count = std::min(end, kColumns), first = end - count;
    for (std::size_t k = 0; k < count; ++k)
      for (std::size_t i = 0; i < width; ++i) columns[i * count + k] = unit[(first + k) * width + i];
    std::size_t left = 0;  // of those that go on looking
    for (std::size_t at = 0; at < looking.size(); at += kRows) {
      const std::size_t asked = std::min(kRows, looking.size() - at);
      for (std::size_t r = 0; r < asked; ++r) std::ranges::copy(unit.subspan(looking[at + r] * width, width), &rows[r * width]);
      matrix_products(std::span(rows).first(asked * width), std::span(columns).first(width * count), count,
                      std::span(cosines).first(asked * count));
      for (std::size_t r = 0; r < asked; ++r) {
        const std::size_t slot = looking[at + r];
        std::size_t k = count;
        while (k > 0 && (first + k - 1 == slot || !(cosines[r * count + k - 1] > similar))) --k;
        if (k > 0)
          newest[slot] = first + k - 1;
        else
          looking[left++] = slot;
      }
    }
    looking.resize(left);
  }
  return newest;
}

}  // namespace

std::vector<double> key_redundancy(std::span<const double> keys, std::size_t n, double similar) {
  const std::size_t width = keys.size() / n;
  std::vector<double> unit(keys.begin(), keys.end()), sum(n), itself(n), all(width, 0.0);
  row_squares(unit.data(), width, itself);
  for (std::size_t x = 0; x < unit.size(); ++x)
    if (itself[x / width] > 0) unit[x] /= std::sqrt(itself[x / width]);
  const auto direction = [&](std::size_t slot) { return std::span(unit).subspan(slot * width, width); };
  for (std::size_t i = 0; i < n; ++i) add_scaled(all, 1.0, direction(i).data());
  row_products(unit.data(), all, sum);  // of all cosines to a slot
  row_squares(unit.data(), width, itself);
  for (std::size_t i = 0; i < n; ++i) sum[i] -= itself[i];
  const std::vector<std::size_t> spared = newest_alike(unit, n, similar);
  for (std::size_t i = 0; i < n; ++i) {
    double cosine = 0;
    if (spared[i] != i) row_products(direction(i).data(), direction(spared[i]), std::span(&cosine, 1));
    sum[spared[i]] -= cosine;
  }
  for (double& x : sum) x /= static_cast<double>(n);
  softmax(sum);
  return sum;
}

std::vector<double> RedundancyRanking::score(const HeadView& head) const {
  const std::size_t n = head.slots->pos.size(), ranked = n - std::min(n, static_cast<std::size_t>(o_.window));
  std::vector<double> score(n, kNotAvailable);
  if (ranked == 0) return score;
  const std::vector<double> importance = pool_1d(window_importance(head.slots->z_rows, o_.window, ranked), o_.kernel, Pool::max);
  const std::vector<double> redundancy = key_redundancy(all_keys(head), n, o_.similar);
  head.note("importance", importance);
  head.note("redundancy", std::span(redundancy).first(ranked));
  for (std::size_t i = 0; i < ranked; ++i) score[i] = o_.lambda * importance[i] - (1 - o_.lambda) * redundancy[i];
  return score;
}

std::string RedundancyRanking::equation() const {
  return fmt::format(
      "{:g} importance − {:g} redundancy: importance = attention of the last {} queries (or all there are), largest of {} neighbours; "
      "redundancy = share of the mean cosines to other keys",
      o_.lambda, 1 - o_.lambda, o_.window, o_.kernel);
}

}  // namespace kvscope
