// SPDX-License-Identifier: Apache-2.0
#include "runtime/lane/runner_ups.h"

#include <algorithm>
#include <cmath>

namespace kvscope {

void record_runner_ups(Backend& backend, const HeadCache& head, const Plan& plan, HeadRecord& record) {
  constexpr std::size_t kRunnerUps = 3;
  std::vector<char> gone(head.slots.pos.size(), 0);
  std::vector<int> from, kept;
  std::vector<std::size_t> event_of;
  for (std::size_t i = 0; i < plan.removals.size(); ++i) {
    const Removal& r = plan.removals[i];
    gone[r.slot] = 1;
    if (std::isnan(r.cos)) continue;  // nobody looked for a similar key
    from.push_back(r.slot);
    event_of.push_back(i);
  }
  for (int i = 0; i < head.slots.size(); ++i) {
    if (!gone[i]) kept.push_back(i);
  }
  if (from.empty() || kept.empty()) return;
  std::vector<double> cosines(from.size() * kept.size());
  backend.cosines(head.kv, from, kept, cosines);
  std::vector<std::pair<int, double>> others;
  for (std::size_t e = 0; e < from.size(); ++e) {
    Event& event = record.events[event_of[e]];
    others.clear();
    for (std::size_t c = 0; c < kept.size(); ++c) {
      const int pos = head.slots.pos[kept[c]];
      if (pos != event.into) others.emplace_back(pos, cosines[e * kept.size() + c]);
    }
    const auto n = std::min(kRunnerUps, others.size());
    std::partial_sort(others.begin(), others.begin() + static_cast<std::ptrdiff_t>(n), others.end(),
                      [](const auto& a, const auto& b) { return a.second != b.second ? a.second > b.second : a.first < b.first; });
    event.runner_ups.assign(others.begin(), others.begin() + static_cast<std::ptrdiff_t>(n));
  }
}

}  // namespace kvscope
