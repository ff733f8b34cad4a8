// SPDX-License-Identifier: Apache-2.0
#include "policy/hand_plan.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "core/place.h"
#include "policy/mergers/keepkv_merge.h"
#include "slots/log_scores.h"

namespace kvscope {
namespace {

/// The predictor that these statistics are kept for; nullopt: none.
std::optional<Predict> predictor(const StatNeeds& needs) {
  if (needs.ema) return Predict::ema;
  if (needs.keep_z_rows) return Predict::window;
  if (needs.z_now) return Predict::current;
  return std::nullopt;
}

/// False where one of the two has never been scored: there is nothing to weigh by.
bool merge_by_score(const SlotState& slots, const StatNeeds& needs, int group, Merge& merge) {
  const std::optional<Predict> predict = predictor(needs);
  if (!predict) return false;
  const std::vector<double> lshat = log_scores(slots, *predict, group, needs.ema_alpha);
  KeepkvGroup m;
  m.log_Z = log_normalisers(slots, lshat, group);
  for (const int i : merge.members) {
    m.p.push_back(slots.votes[at(i)]);
    m.extra.push_back(slots.extra[at(i)]);
    for (int g = 0; g < group; ++g) m.lshat.push_back(lshat[at(i * group + g)]);
  }
  if (!std::ranges::all_of(m.lshat, [](double x) { return std::isfinite(x); })) return false;
  const KeepkvMerged merged = merge_group(m, MergeForm::bias);
  merge.key_weights = merge.value_weights = merged.w;
  merge.extra = merged.extra;
  merge.log_score = merged.T;
  merge.mean_log_score = merged.m;
  merge.mu = merged.mu;
  return true;
}

}  // namespace

Plan evict_by_hand(const SlotState& slots, std::span<const int> gone) {
  Plan plan;
  for (const int i : gone) {
    if (static_cast<int>(plan.removals.size()) + 1 == slots.size()) break;
    plan.removals.push_back({.slot = i});
  }
  return plan;
}

Plan merge_by_hand(const SlotState& slots, const StatNeeds& needs, int group, int from, int target, double cos) {
  Plan plan;
  Merge& merge = plan.merges.emplace_back();
  merge.target = target;
  merge.members = {target, from};
  Removal removal{.slot = from, .target = target, .cos = cos};
  if (merge_by_score(slots, needs, group, merge)) {
    removal.form = MergeForm::bias;
  } else {
    const double p = slots.votes[at(target)], q = slots.votes[at(from)];
    merge.key_weights = merge.value_weights = {p / (p + q), q / (p + q)};
  }
  removal.w_target = merge.value_weights[0];
  removal.w_removed = merge.value_weights[1];
  plan.removals.push_back(std::move(removal));
  return plan;
}

}  // namespace kvscope
