// SPDX-License-Identifier: Apache-2.0
// Changes by hand: after a step's own compression, through the same plans that policies return.
#include <algorithm>

#include "core/slot_runs.h"
#include "policy/hand_plan.h"
#include "runtime/lane/lane.h"
#include "runtime/lane/plan_records.h"

namespace kvscope {

namespace {

/// Slot of a position; -1: it has none of its own.
int slot_at(const SlotState& slots, int pos) {
  const auto place = std::lower_bound(slots.pos.begin(), slots.pos.end(), pos);
  return place != slots.pos.end() && *place == pos ? static_cast<int>(place - slots.pos.begin()) : -1;
}

}  // namespace

bool Lane::keeps_history() const {
  const bool brings_back = std::any_of(what_ifs_.begin(), what_ifs_.end(), [](const WhatIf& w) { return w.kind == WhatIf::Kind::restore; });
  return brings_back || policy_->needs().coming_queries > 0 || policy_->reload() > 0 || (setup_.record.shadow && removes());
}

std::vector<int> Lane::pinned(int layer, int kv_head, int step) const {
  std::vector<int> out;
  for (const WhatIf& w : what_ifs_) {
    if (w.kind == WhatIf::Kind::pin && w.step < step && w.heads.has(layer, kv_head))
      out.insert(out.end(), w.positions.begin(), w.positions.end());
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

bool Lane::do_what_ifs(int layer, int kv_head, HeadRecord& record) {
  bool changed = false;
  for (const WhatIf& w : what_ifs_) {
    if (w.step == record_->step && w.heads.has(layer, kv_head)) changed |= do_what_if(w, layer, kv_head, record);
  }
  return changed;
}

bool Lane::do_what_if(const WhatIf& what_if, int layer, int kv_head, HeadRecord& record) {
  HeadCache& head = layers_[layer].heads[kv_head];
  const StatNeeds& needs = policy_->needs(layer);
  bool changed = false;
  switch (what_if.kind) {
    case WhatIf::Kind::pin:
      return false;
    case WhatIf::Kind::evict: {
      std::vector<int> gone;
      for (const int pos : what_if.positions) {
        if (const int i = slot_at(head.slots, pos); i >= 0) gone.push_back(i);
      }
      return remove_by_hand(head, layer, evict_by_hand(head.slots, gone), record);
    }
    case WhatIf::Kind::merge:
      for (const int pos : what_if.positions) {
        const int from[] = {slot_at(head.slots, pos)}, target[] = {slot_at(head.slots, what_if.into)};
        if (from[0] < 0 || target[0] < 0) continue;
        double cos = 0;
        backend_.cosines(head.kv, from, target, {&cos, 1});
        changed |= remove_by_hand(head, layer, merge_by_hand(head.slots, needs, config_.group(), from[0], target[0], cos), record);
      }
      return changed;
    case WhatIf::Kind::restore:
      for (const int pos : what_if.positions) {
        if (pos > record_->position || pos < first_kept(layer) || slot_at(head.slots, pos) >= 0) continue;
        const KvSegment kv = layers_[layer].shadow->token(kv_head, pos);
        const int place = restore(backend_, head, needs, config_.group(), config_.head_dim, pos, kv.k, kv.v);
        if (!record.score.empty()) record.score.insert(record.score.begin() + place, kNotAvailable);
        record.events.push_back({.kind = Event::Kind::restore, .pos = pos, .by_hand = true});
        changed = true;
      }
      return changed;
  }
  return changed;
}

bool Lane::remove_by_hand(HeadCache& head, int layer, const Plan& plan, HeadRecord& record) {
  if (plan.removals.empty()) return false;
  const std::size_t first = record.events.size();
  record_plan(backend_, head, plan, setup_.record, record, /*by_hand=*/true);
  for (std::size_t e = first; e < record.events.size() && !record.score.empty(); ++e)
    record.events[e].score = record.score[plan.removals[e - first].slot];
  if (policy_->positions() == Positions::cache && config_.window(layer) == 0) unrotate_keys(backend_, head);
  const std::vector<int> gone = apply(backend_, head, policy_->needs(layer), plan);
  if (!record.score.empty()) remove_entries(record.score, gone);
  return true;
}

}  // namespace kvscope
