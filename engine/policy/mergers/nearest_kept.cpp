// SPDX-License-Identifier: Apache-2.0
#include "policy/mergers/nearest_kept.h"

namespace kvscope {

std::vector<Nearest> nearest_kept(const HeadDecision& head) {
  if (head.keep.empty() || head.gone.empty()) return std::vector<Nearest>(head.gone.size());
  return head.view.keys->nearest(head.gone, head.keep);
}

void expect_nearest_kept(const HeadDecision& head) {
  if (!head.keep.empty() && !head.gone.empty()) head.view.keys->expect_nearest(head.gone, head.keep);
}

}  // namespace kvscope
