// SPDX-License-Identifier: Apache-2.0
#include "app/window/session/fork_parents.h"

#include <algorithm>
#include <memory>

#include "policy/catalog.h"

namespace kvscope {

void ForkParents::made(const std::string& fork, const std::vector<LaneSpec>& lanes, int parent) {
  const auto own = lanes.begin() + parent;
  std::vector<int>& forks = m_before[fork];
  forks.resize(static_cast<std::size_t>(std::ranges::count(lanes, fork, &LaneSpec::text)) + 1);
  forks.back() = static_cast<int>(std::ranges::count(lanes.begin(), own, own->text, &LaneSpec::text));
}

void ForkParents::renamed(const std::string& before, const std::string& now) {
  if (const auto known = m_before.find(before); known != m_before.end()) m_before[now] = known->second;
}

SnapshotPtr ForkParents::tied(const SnapshotPtr& snapshot) const {
  std::shared_ptr<Snapshot> out;
  std::map<std::string, std::size_t> seen;
  for (std::size_t i = 0; i < snapshot->lanes.size(); ++i) {
    const LaneSnapshot& fork = snapshot->lanes[i];
    const std::size_t n_same = seen[fork.spec]++;
    const auto known = m_before.find(fork.spec);
    if (fork.fork_of < 0 || known == m_before.end() || n_same >= known->second.size()) continue;
    int left = known->second[n_same], parent = fork.fork_of;
    // It was made on a run without edits of its own, not on another fork of that which begins alike.
    while (snapshot->lanes[static_cast<std::size_t>(parent)].fork_of >= 0)
      parent = snapshot->lanes[static_cast<std::size_t>(parent)].fork_of;
    for (auto at = static_cast<std::size_t>(parent) + 1; at < snapshot->lanes.size() && left > 0; ++at)
      if (snapshot->lanes[at].spec == snapshot->lanes[static_cast<std::size_t>(parent)].spec) parent = static_cast<int>(at), --left;
    if (parent == fork.fork_of) continue;
    if (!out) out = std::make_shared<Snapshot>(*snapshot);
    out->lanes[i].fork_of = parent;
  }
  return out ? out : snapshot;
}

}  // namespace kvscope
