// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "runtime/prompt_run.h"

namespace kvscope {

void PromptNeeds::add(const StatNeeds& needs) {
  Columns& c = columns[static_cast<int>(needs.group)];
  c.sum |= needs.sum;
  c.sum_sq |= needs.sum_sq;
  c.rows = std::max(c.rows, needs.rows);
  z_rows = std::max(z_rows, std::max(needs.z_rows, needs.z_now ? 1 : 0));
}

bool PromptNeeds::covers(const PromptNeeds& other) const {
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const Columns &a = columns[i], &b = other.columns[i];
    if (a.sum < b.sum || a.sum_sq < b.sum_sq || a.rows < b.rows) return false;
  }
  return z_rows >= other.z_rows;
}

}  // namespace kvscope
