// SPDX-License-Identifier: Apache-2.0
#include "policy/mergers/value_spread.h"

#include <algorithm>

#include "policy/rules.h"

namespace kvscope {

double spread_probability(double removed, double mean_of_targets) {
  if (removed == 0) return 0;
  if (mean_of_targets == 0) return 1;
  return std::clamp(removed / mean_of_targets, 0.0, 1.0);
}

void ValueSpreadMerger::merge_layer(std::span<HeadDecision> heads, int step) {
  for (HeadDecision& head : heads) spread(head, step);
}

void ValueSpreadMerger::spread(HeadDecision& head, int step) const {
  const std::vector<double>& sum = head.slots().sum;
  for (std::size_t e = 0; e < head.gone.size(); ++e) {
    const int i = head.gone[e];
    Removal removal = removal_of(head, i);
    const auto first = std::ranges::upper_bound(head.keep, i);
    const auto last = first + std::min<std::ptrdiff_t>(m_, head.keep.end() - first);
    const auto n_targets = static_cast<double>(last - first);
    double mean = 0;
    for (auto t = first; t != last; ++t) mean += sum[static_cast<std::size_t>(*t)];
    mean /= n_targets;
    const double probability = first == last ? 0.0 : spread_probability(sum[static_cast<std::size_t>(i)], mean);
    if (uniform_draw(seed_, step, head.view.layer, head.view.kv_head, static_cast<int>(e)) < probability)
      removal.spread.assign(first, last);
    head.plan.removals.push_back(std::move(removal));
  }
}

}  // namespace kvscope
