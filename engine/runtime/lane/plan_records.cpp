// SPDX-License-Identifier: Apache-2.0
#include "runtime/lane/plan_records.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

namespace kvscope {

namespace {

/// The keys that were next to the chosen one, for removals that looked for a similar key.
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

}  // namespace

const char* name_of(MergeForm form) {
  constexpr const char* kForms[] = {"", "bias", "zip", "code", "paper"};
  return kForms[static_cast<int>(form)];
}

void record_plan(Backend& backend, const HeadCache& head, const Plan& plan, const RecordOptions& options, HeadRecord& record,
                 bool by_hand) {
  const std::vector<int>& pos = head.slots.pos;
  for (const Removal& r : plan.removals) {
    record.events.push_back({.kind = r.target < 0 ? Event::Kind::evict : Event::Kind::merge,
                             .pos = pos[r.slot],
                             .into = r.target < 0 ? -1 : pos[r.target],
                             .w_removed = r.target < 0 ? kNotAvailable : r.w_removed,
                             .w_target = r.target < 0 ? kNotAvailable : r.w_target,
                             .score = r.score,
                             .cos = r.cos,
                             .gamma = r.gamma,
                             .form = name_of(r.form),
                             .fallback = r.fallback,
                             .by_hand = by_hand});
    for (const int i : r.spread) record.events.back().spread.push_back(pos[i]);
  }
  if (!options.captures) return;
  if (options.measures.runner_ups) record_runner_ups(backend, head, plan, record);
  for (const Merge& m : plan.merges) {
    MergeDetail detail{.into = pos[m.target],
                       .mu = m.mu,
                       .weights = m.value_weights,
                       .T = m.log_score,
                       .m = m.mean_log_score,
                       .extra = m.extra.value_or(0),
                       .log_scores = m.member_log_scores,
                       .value_change = m.value_change,
                       .error_before = m.error_before,
                       .error_after = m.error_after};
    if (m.key_scale != 1) detail.gamma = m.key_scale;
    for (const int i : m.members) {
      detail.members.push_back(pos[i]);
      detail.votes.push_back(head.slots.votes[i]);
    }
    record.merges.push_back(std::move(detail));
  }
}

void record_limits(const LaneContext& lane, int layer, int h, int n_slots, HeadRecord& record) {
  const Policy& policy = *lane.policy;
  const int window = lane.config.window(layer);
  record.layer = layer;
  record.kv_head = h;
  const std::optional<int> budget = window > 0 ? std::nullopt : policy.budget(layer, h);
  // without a limit beside limited ones, or with none at all where yet something goes: the outcome
  record.budget = budget.value_or(policy.limits() ? n_slots : -1);
  record.overridden = window == 0 && policy.overridden(layer, h);
  record.pinned = lane.edits.pinned(layer, h, lane.record->step + 1);
  record.recent = window > 0 ? window : policy.recent(layer, h);
}

ScoreParts score_parts(std::span<const int> pos, std::span<const ScoreTerm> terms) {
  ScoreParts out{.pos = {pos.begin(), pos.end()}, .parts = {}};
  for (const ScoreTerm& term : terms) out.parts.push_back({term.name, {term.values.begin(), term.values.begin() + std::ssize(pos)}});
  return out;
}

}  // namespace kvscope
