// SPDX-License-Identifier: Apache-2.0
#include "runtime/lane/hand_changes.h"

#include <algorithm>

#include "core/slot_runs.h"
#include "policy/hand_plan.h"
#include "runtime/lane/plan_records.h"

namespace kvscope {

namespace {

/// Slot of a position; -1: it has none of its own.
int slot_at(const SlotState& slots, int pos) {
  const auto place = std::lower_bound(slots.pos.begin(), slots.pos.end(), pos);
  return place != slots.pos.end() && *place == pos ? static_cast<int>(place - slots.pos.begin()) : -1;
}

bool remove_by_hand(const HandChanges::Site& site, const Plan& plan) {
  if (plan.removals.empty()) return false;
  HeadRecord& record = site.record;
  const std::size_t first = record.events.size();
  record_plan(site.backend, site.head, plan, site.options, record, /*by_hand=*/true);
  for (std::size_t e = first; e < record.events.size() && !record.score.empty(); ++e)
    record.events[e].score = record.score[static_cast<std::size_t>(plan.removals[e - first].slot)];
  if (site.policy.positions() == Positions::cache && site.config.window(site.layer) == 0) unrotate_keys(site.backend, site.head);
  const std::vector<int> gone = apply(site.backend, site.head, site.policy.needs(site.layer), plan, site.maps);
  if (!record.score.empty()) remove_entries(record.score, gone);
  return true;
}

bool evict(const HandChanges::Site& site, const WhatIf& what_if) {
  std::vector<int> gone;
  for (const int pos : what_if.positions)
    if (const int i = slot_at(site.head.slots, pos); i >= 0) gone.push_back(i);
  return remove_by_hand(site, evict_by_hand(site.head.slots, gone));
}

bool merge(const HandChanges::Site& site, const WhatIf& what_if) {
  const HeadCache& head = site.head;
  bool changed = false;
  for (const int pos : what_if.positions) {
    const int from[] = {slot_at(head.slots, pos)}, target[] = {slot_at(head.slots, what_if.into)};
    if (from[0] < 0 || target[0] < 0) continue;
    double cos = 0;
    site.backend.cosines(head.kv, from, target, {&cos, 1});
    changed |= remove_by_hand(site, merge_by_hand(head.slots, site.policy.needs(site.layer), site.config.group(), from[0], target[0], cos));
  }
  return changed;
}

bool bring_back(const HandChanges::Site& site, const WhatIf& what_if) {
  HeadRecord& record = site.record;
  const int first_kept = site.config.layer(site.layer).first_seen(site.position + 1);
  bool changed = false;
  for (const int pos : what_if.positions) {
    if (pos > site.position || pos < first_kept || slot_at(site.head.slots, pos) >= 0) continue;
    const KvSegment kv = site.history->token(site.kv_head, pos);
    const int place = restore(site.backend, site.head, site.policy.needs(site.layer), site.config.group(), site.config.head_dim, pos, kv.k,
                              kv.v, site.maps);
    if (!record.score.empty()) record.score.insert(record.score.begin() + place, kNotAvailable);
    record.events.push_back({.kind = Event::Kind::restore, .pos = pos, .by_hand = true});
    changed = true;
  }
  return changed;
}

bool carry_out_one(const HandChanges::Site& site, const WhatIf& what_if) {
  switch (what_if.kind) {
    case WhatIf::Kind::pin:
      return false;
    case WhatIf::Kind::evict:
      return evict(site, what_if);
    case WhatIf::Kind::merge:
      return merge(site, what_if);
    case WhatIf::Kind::restore:
      return bring_back(site, what_if);
  }
  return false;
}

}  // namespace

bool HandChanges::has(WhatIf::Kind kind) const {
  return std::ranges::any_of(what_ifs_, [kind](const WhatIf& w) { return w.kind == kind; });
}

std::vector<int> HandChanges::pinned(int layer, int kv_head, int step) const {
  std::vector<int> out;
  for (const WhatIf& w : what_ifs_) {
    if (w.kind == WhatIf::Kind::pin && w.step < step && w.heads.has(layer, kv_head))
      out.insert(out.end(), w.positions.begin(), w.positions.end());
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

bool HandChanges::carry_out(const Site& site) const {
  bool changed = false;
  for (const WhatIf& w : what_ifs_)
    if (w.step == site.step && w.heads.has(site.layer, site.kv_head)) changed |= carry_out_one(site, w);
  return changed;
}

}  // namespace kvscope
