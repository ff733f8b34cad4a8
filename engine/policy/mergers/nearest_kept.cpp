// SPDX-License-Identifier: Apache-2.0
#include "policy/mergers/nearest_kept.h"

#include "core/error.h"

namespace kvscope {

std::vector<Nearest> nearest_kept(const HeadDecision& head) {
  std::vector<Nearest> nearest(head.gone.size());
  if (head.keep.empty() || head.gone.empty()) return nearest;
  const std::vector<double> cosines = head.view.keys->cosines(head.gone, head.keep);
  KVSCOPE_ASSERT(cosines.size() == head.gone.size() * head.keep.size());
  for (std::size_t e = 0; e < head.gone.size(); ++e) {
    const double* row = cosines.data() + e * head.keep.size();
    std::size_t best = 0;
    for (std::size_t c = 1; c < head.keep.size(); ++c)
      if (row[c] > row[best]) best = c;
    nearest[e] = {head.keep[best], row[best]};
  }
  return nearest;
}

}  // namespace kvscope
