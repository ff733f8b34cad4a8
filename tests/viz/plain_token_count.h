// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "viz/reduce/token_count.h"

namespace kvscope::viz::testing {

/// What TokenCounts says, head by head and with nothing kept from before.
inline TokenCount token_count(const LaneSnapshot& lane, int step, int token) {
  TokenCount out;
  if (token < 0 || step >= static_cast<int>(lane.steps.size()) || token > lane.steps[static_cast<std::size_t>(step)]->position) return out;
  for (const HeadFates& fates : lane.fates->heads) {
    ++out.heads;
    const Fate fate = token < fates.n_tokens() ? fate_at(fates, token, step) : Fate{};
    if (fate.lost > step) {
      ++(fate.left > step ? out.kept : out.merged);
      continue;
    }
    out.first_lost = out.evicted == 0 ? fate.lost : std::min(out.first_lost, fate.lost);
    out.last_lost = std::max(out.last_lost, fate.lost);
    ++out.evicted;
  }
  return out;
}

}  // namespace kvscope::viz::testing
