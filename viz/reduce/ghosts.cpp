// SPDX-License-Identifier: Apache-2.0
#include "viz/reduce/ghosts.h"

#include <algorithm>

namespace kvscope::viz {

std::vector<char> leaving(const HeadFates& fates, int step, int until, int first, int last) {
  std::vector<char> result(static_cast<std::size_t>(std::max(0, last - first + 1)), 0);
  if (until <= step) return result;
  const int n = fates.n_tokens();
  for (int t = std::max(0, first); t <= std::min(last, n - 1); ++t) {
    const Fate now = fate_at(fates, t, step), later = fate_at(fates, t, until);
    const bool own = now.left > step, here = own || now.lost > step;
    const bool goes = own ? later.left <= until : later.lost <= until;
    result[static_cast<std::size_t>(t - first)] = here && goes ? 1 : 0;
  }
  return result;
}

int ghosts_until(const LaneSnapshot& lane, int step, int ahead) { return std::min(step + ahead, static_cast<int>(lane.steps.size()) - 1); }

}  // namespace kvscope::viz
