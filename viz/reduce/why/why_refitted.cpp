// SPDX-License-Identifier: Apache-2.0
#include "viz/reduce/why/why_refitted.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "viz/draw/format.h"

namespace kvscope::viz {

std::vector<WhyStep> why_refitted_steps(const HeadPick& pick, int pos) {
  const auto fits = [pos](const MergeDetail& m) { return m.into == pos && std::isfinite(m.value_change); };
  for (int s = pick.step; s >= 0; --s) {
    const std::vector<HeadRecord>& heads = pick.run->steps[static_cast<std::size_t>(s)]->heads;
    if (pick.head >= static_cast<int>(heads.size())) continue;
    const std::vector<MergeDetail>& merges = heads[static_cast<std::size_t>(pick.head)].merges;
    const auto fit = std::ranges::find_if(merges, fits);
    if (fit == merges.end()) continue;
    WhyStep step;
    step.title = fmt::format("Kept, refitted in step {}: bias {}, value changed by {}", s, format_delta(fit->extra, 3),
                             format_percent(fit->value_change));
    step.lines.push_back(fmt::format("error of the head's outputs for the prompt's queries: {} as evicted alone, {} refitted",
                                     format_percent(fit->error_before), format_percent(fit->error_after)));
    return {std::move(step)};
  }
  return {};
}

}  // namespace kvscope::viz
