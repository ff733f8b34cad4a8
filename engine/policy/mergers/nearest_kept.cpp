// SPDX-License-Identifier: Apache-2.0
#include "policy/mergers/nearest_kept.h"

namespace kvscope {

std::vector<Nearest> nearest_kept(const HeadDecision& head) {
  if (head.gone.empty() || head.n_kept() == 0) return std::vector<Nearest>(head.gone.size());
  return head.view.keys->nearest_kept(head.gone);
}

void expect_nearest_kept(const HeadDecision& head) {
  if (!head.gone.empty() && head.n_kept() > 0) head.view.keys->expect_nearest_kept(head.gone);
}

}  // namespace kvscope
