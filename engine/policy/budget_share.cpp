// SPDX-License-Identifier: Apache-2.0
#include "policy/budget_share.h"

#include <algorithm>
#include <cmath>

#include "policy/rules.h"

namespace kvscope {

int slots_of_ratio(double ratio, int n_prompt, bool down) {
  const double slots = down ? std::floor(n_prompt * (1 - (1 - ratio))) : ratio * n_prompt;
  return round_half_up(std::min(slots, 1e8));
}

}  // namespace kvscope
