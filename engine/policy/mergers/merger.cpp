// SPDX-License-Identifier: Apache-2.0
#include "policy/mergers/merger.h"

#include <cmath>

namespace kvscope {

void Merger::merge_layer(std::span<HeadDecision> heads, int) {
  for (HeadDecision& head : heads)
    if (!head.gone.empty()) merge(head);
}

Removal removal_of(const HeadDecision& head, int slot) {
  Removal r;
  r.slot = slot;
  if (head.plan.score.empty()) return r;
  const double score = head.score[static_cast<std::size_t>(slot)];
  if (std::isfinite(score)) r.score = score;
  return r;
}

void NoMerger::merge(HeadDecision& head) {
  for (const int e : head.gone) head.plan.removals.push_back(removal_of(head, e));
}

}  // namespace kvscope
