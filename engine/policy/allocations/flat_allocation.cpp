// SPDX-License-Identifier: Apache-2.0
#include "policy/allocations/flat_allocation.h"

#include <algorithm>

#include "policy/allocations/head_allocations.h"

namespace kvscope {

HeadNotes FlatAllocation::note(const HeadDecision& head) const {
  HeadNotes out;
  for (std::size_t i = 0; i < head.score.size(); ++i) {
    if (head.is_protected[i]) {
      ++out.n_protected;
    } else {
      out.numbers.push_back(head.score[i]);
      out.pos.push_back(head.slots().pos[i]);
    }
  }
  return out;
}

std::vector<std::optional<int>> FlatAllocation::after_survey(const BudgetShape& shape, std::span<const HeadNotes> heads) const {
  std::vector<std::vector<double>> scores;
  std::vector<std::vector<int>> pos;
  std::vector<std::size_t> places;
  int free = 0;  // slots that are left when all heads have what is protected
  for (std::size_t i = 0; i < heads.size(); ++i) {
    const HeadNotes& head = heads[i];
    if (head.numbers.empty() && head.n_protected == 0) continue;  // of a layer that takes no part
    scores.push_back(head.numbers);
    pos.push_back(head.pos);
    places.push_back(i);
    free += shape.slots - head.n_protected;
  }
  const std::vector<int> counts = best_of_heads(scores, pos, static_cast<std::size_t>(std::max(0, free)));
  std::vector<std::optional<int>> out(heads.size(), shape.slots);
  for (std::size_t x = 0; x < places.size(); ++x) out[places[x]] = std::max(1, heads[places[x]].n_protected + counts[x]);
  return out;
}

}  // namespace kvscope
