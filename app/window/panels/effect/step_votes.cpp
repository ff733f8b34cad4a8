// SPDX-License-Identifier: Apache-2.0
#include "app/window/panels/effect/step_votes.h"

#include <algorithm>
#include <numeric>

#include "snapshot/held_bytes.h"

namespace kvscope {

StepVotes countVotes(const HeadRecord& head, int position) {
  if (only_figures(head)) return {position + 1LL - head.evicted_votes, head.evicted_votes};
  return {std::accumulate(head.votes.begin(), head.votes.end(), 0LL), head.evicted_votes};
}

StepVotes countVotes(const StepRecord& step) {
  StepVotes all;
  for (const HeadRecord& head : step.heads) {
    const StepVotes one = countVotes(head, step.position);
    all.in_slots += one.in_slots;
    all.lost += one.lost;
  }
  return all;
}

const StepVotes& StepVotesOnce::of(const StepPtr& step) {
  const auto known = m_kept.find(step.get());
  if (known != m_kept.end() && known->second.step.lock() == step) return known->second.votes;
  if (m_kept.size() >= m_room) forgetTheGone();
  ++m_counted;
  return (m_kept[step.get()] = Kept{step, countVotes(*step)}).votes;
}

void StepVotesOnce::forgetTheGone() {
  std::erase_if(m_kept, [](const auto& entry) { return entry.second.step.expired(); });
  m_room = std::max(m_room, 2 * m_kept.size());
}

}  // namespace kvscope
