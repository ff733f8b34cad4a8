// SPDX-License-Identifier: Apache-2.0
#include "policy/mergers/neighbour_sets.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "core/place.h"

namespace kvscope {
namespace {

/// Walks over the sets from the last key to the first. joins(i, anchor): key i lies close enough to the anchor.
/// Calls open(i) for every new anchor and join(i) for every other key.
template <class Joins, class Open, class Join>
void walk_sets(int n, Joins joins, Open open, Join join) {
  int anchor = -1;
  for (int i = n - 1; i >= 0; --i) {
    if (anchor >= 0 && joins(i, anchor)) {
      join(i);
    } else {
      anchor = i;
      open(i);
    }
  }
}

/// a . b in four sums side by side, so that it need not wait for one addition after the other.
double dot(std::span<const double> a, std::span<const double> b) {
  double sum[4] = {0, 0, 0, 0};
  std::size_t d = 0;
  for (; d + 4 <= a.size(); d += 4)
    for (std::size_t x = 0; x < 4; ++x) sum[x] += a[d + x] * b[d + x];
  for (; d < a.size(); ++d) sum[0] += a[d] * b[d];
  return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

}  // namespace

KeyRows::KeyRows(std::vector<double> keys, int n) : keys_(std::move(keys)), norm_(at(n)), width_(n > 0 ? keys_.size() / at(n) : 0) {
  for (int i = 0; i < n; ++i) {
    const std::span<const double> k = row(i);
    norm_[at(i)] = std::sqrt(dot(k, k));
  }
}

double KeyRows::cosine(int i, int j) const {
  const double norms = norm_[at(i)] * norm_[at(j)];
  if (!(norms > 0)) return 0;
  return dot(row(i), row(j)) / norms;
}

double KeyRows::distance(int i, int j) const {
  const std::span<const double> a = row(i), b = row(j);
  double sum = 0;
  for (std::size_t d = 0; d < a.size(); ++d) sum += (a[d] - b[d]) * (a[d] - b[d]);
  return std::sqrt(sum);
}

std::vector<std::vector<int>> neighbour_sets(const KeyRows& keys, double theta) {
  std::vector<std::vector<int>> sets;
  walk_sets(
      keys.size(), [&](int i, int anchor) { return keys.cosine(i, anchor) > theta; }, [&](int i) { sets.push_back({i}); },
      [&](int i) { sets.back().push_back(i); });
  for (std::vector<int>& set : sets) std::ranges::reverse(set);
  return sets;
}

double fitting_theta(const KeyRows& keys, int room) {
  // Most keys meet the same one or two anchors again in the next bisection: their cosines are remembered.
  struct Known {
    int anchor[2] = {-1, -1};
    double cosine[2] = {0, 0};
  };
  std::vector<Known> known(at(keys.size()));
  const auto cosine = [&](int i, int anchor) {
    Known& k = known[at(i)];
    const int place = anchor & 1;
    if (k.anchor[place] != anchor) {
      k.anchor[place] = anchor;
      k.cosine[place] = keys.cosine(i, anchor);
    }
    return k.cosine[place];
  };
  double lo = -1, hi = 1;
  for (int round = 0; round < 20; ++round) {
    const double theta = (lo + hi) / 2;
    int sets = 0;
    walk_sets(
        keys.size(), [&](int i, int anchor) { return cosine(i, anchor) > theta; }, [&](int) { ++sets; }, [](int) {});
    (sets <= room ? lo : hi) = theta;
  }
  return lo;
}

std::vector<double> gauss_weights(std::span<const double> distance, int pivot, const Sigma& sigma) {
  const auto n = static_cast<double>(distance.size());
  double s = sigma.number;
  if (sigma.kind == Sigma::Kind::mean) {
    const double sum = std::accumulate(distance.begin(), distance.end(), 0.0) - distance[at(pivot)];
    s = distance.size() > 1 ? sum / (n - 1) : 0.0;
  } else if (sigma.kind == Sigma::Kind::eq7) {
    s = std::inner_product(distance.begin(), distance.end(), distance.begin(), 0.0) / (std::numbers::sqrt2 * n);
  }
  std::vector<double> w;
  for (const double x : distance) w.push_back(s == 0 ? 1.0 : std::exp(-x * x / (2 * s * s)));
  const double total = std::accumulate(w.begin(), w.end(), 0.0);
  for (double& x : w) x /= total;
  return w;
}

void NeighbourSetMerger::expect(HeadDecision& head) const { head.view.keys->expect_keys(head.gone); }

void NeighbourSetMerger::merge(HeadDecision& head) {
  const std::vector<double>& sum = head.slots().sum;
  std::vector<double> rows;
  head.view.keys->keys(head.gone, rows);
  const KeyRows keys(std::move(rows), static_cast<int>(head.gone.size()));
  const int room = head.budget.value_or(0) - head.n_kept();
  head.plan.theta = options_.fits_budget ? fitting_theta(keys, room) : options_.threshold;
  for (const std::vector<int>& set : neighbour_sets(keys, head.plan.theta)) {
    if (set.size() == 1) continue;
    const auto slot = [&](std::size_t member) { return head.gone[at(set[member])]; };
    std::size_t pivot = 0;
    for (std::size_t i = 1; i < set.size(); ++i)
      if (sum[at(slot(i))] >= sum[at(slot(pivot))]) pivot = i;
    std::vector<double> distance;
    for (const int i : set) distance.push_back(keys.distance(set[pivot], i));
    const std::vector<double> w = gauss_weights(distance, static_cast<int>(pivot), options_.sigma);
    Merge merge;
    merge.target = slot(pivot);
    merge.members = {slot(pivot)};
    merge.key_weights = {w[pivot]};
    for (std::size_t i = 0; i < set.size(); ++i) {
      if (i == pivot) continue;
      merge.members.push_back(slot(i));
      merge.key_weights.push_back(w[i]);
      Removal removal = removal_of(head, slot(i));
      removal.target = slot(pivot);
      removal.w_removed = w[i];
      removal.w_target = w[pivot];
      head.plan.removals.push_back(std::move(removal));
    }
    merge.value_weights = merge.key_weights;
    head.plan.merges.push_back(std::move(merge));
  }
  std::ranges::sort(head.plan.removals, {}, &Removal::slot);
}

}  // namespace kvscope
