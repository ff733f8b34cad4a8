// SPDX-License-Identifier: Apache-2.0
#include "policy/mergers/keepkv_merge.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "core/place.h"
#include "policy/mergers/nearest_kept.h"
#include "policy/rankings/predicted_share.h"
#include "slots/mass_merge.h"

namespace kvscope {

KeepkvMerged merge_group(const KeepkvGroup& M, MergeForm form) {
  const int n = static_cast<int>(M.p.size());
  const int G = static_cast<int>(M.log_Z.size());
  KeepkvMerged out;
  out.form = form;
  out.mu.resize(at(n));
  out.w.resize(at(n));
  out.T.resize(at(G));
  out.m.resize(at(G));
  const MassMerge merge{.n = n,
                        .group = G,
                        .p = M.p.data(),
                        .extra = M.extra.data(),
                        .lshat = M.lshat.data(),
                        .log_Z = M.log_Z.data(),
                        .mu = out.mu.data(),
                        .w = out.w.data(),
                        .T = out.T.data(),
                        .m = out.m.data()};
  out.P = merge.make();
  if (out.form == MergeForm::zip) {  // gamma = sum_g m_g T_g / sum_g m_g^2, the least-squares length of the key
    const double mT = std::inner_product(out.m.begin(), out.m.end(), out.T.begin(), 0.0);
    const double mm = std::inner_product(out.m.begin(), out.m.end(), out.m.begin(), 0.0);
    const double gamma = mm > 0 ? mT / mm : std::numeric_limits<double>::infinity();
    if (gamma >= 0.5 && gamma <= 2.0) {
      out.gamma = gamma;
    } else {
      out.form = MergeForm::bias;
      out.fallback = true;
    }
  }
  if (out.form == MergeForm::bias) out.extra = merge.missing();
  return out;
}

void KeepkvMerger::require(StatNeeds& needs) const {
  needs.ema = needs.ema || options_.predict == Predict::ema;
  needs.ema_alpha = options_.alpha;
  needs.z_now = needs.z_now || options_.predict == Predict::current;
  needs.keep_z_rows = needs.keep_z_rows || options_.predict == Predict::window;
  needs.z_rows = std::max(needs.z_rows, options_.predict == Predict::current ? 1 : options_.window);
}

void KeepkvMerger::expect(HeadDecision& head) const {
  expect_nearest_kept(head);
  if (head.view.keys->answers_together()) predict(head.slots(), head.prepared);
}

void KeepkvMerger::predict(const SlotState& slots, std::vector<double>& scores) const {
  log_scores(slots, options_.predict, options_.group, start_, scores);
  const std::vector<double> log_Z = log_normalisers(slots, scores, options_.group);
  scores.insert(scores.end(), log_Z.begin(), log_Z.end());
}

void KeepkvMerger::merge(HeadDecision& head) {
  const SlotState& slots = head.slots();
  const int G = options_.group;
  const std::vector<Nearest> nearest = nearest_kept(head);

  // M of every target, in the order in which the targets come up
  std::vector<int> group_of(at(slots.size()), -1);
  std::vector<Merge>& merges = head.plan.merges;
  for (std::size_t x = 0; x < head.gone.size(); ++x) {
    if (!(nearest[x].cos >= options_.threshold)) continue;
    int& group = group_of[at(nearest[x].target)];
    if (group < 0) {
      group = static_cast<int>(merges.size());
      Merge& merge = merges.emplace_back();
      merge.target = nearest[x].target;
      merge.members.reserve(2);  // the usual step
      merge.members.push_back(merge.target);
    }
    merges[at(group)].members.push_back(head.gone[x]);
  }

  struct Outcome {
    MergeForm form;
    double gamma;
    bool fallback;
    std::size_t next = 1;  // member whose removal is told next
  };
  std::vector<Outcome> outcomes;
  outcomes.reserve(merges.size());
  thread_local std::vector<double> now;  // kept by its thread: in a step an allocation would cost as much as the work
  const std::vector<double>& lshat = head.prepared.empty() ? now : head.prepared;
  KeepkvGroup M;
  if (!merges.empty()) {
    if (head.prepared.empty()) predict(slots, now);
    M.log_Z.assign(lshat.end() - G, lshat.end());
  }
  for (Merge& merge : merges) {
    M.p.clear();
    M.extra.clear();
    M.lshat.clear();
    M.lshat.reserve(merge.members.size() * at(G));
    for (const int i : merge.members) {
      M.p.push_back(slots.votes[at(i)]);
      M.extra.push_back(slots.extra[at(i)]);
      M.lshat.insert(M.lshat.end(), lshat.begin() + i * G, lshat.begin() + (i + 1) * G);
    }
    KeepkvMerged r = merge_group(M, options_.form);
    outcomes.push_back({r.form, r.gamma, r.fallback});
    if (r.form == MergeForm::zip) merge.key_scale = r.gamma;
    merge.key_weights = r.w;
    merge.value_weights = std::move(r.w);
    merge.extra = r.extra;
    merge.log_score = std::move(r.T);
    merge.mean_log_score = std::move(r.m);
    merge.member_log_scores = std::move(M.lshat);
    merge.mu = std::move(r.mu);
  }

  head.plan.removals.reserve(head.gone.size());
  for (std::size_t x = 0; x < head.gone.size(); ++x) {
    Removal& removal = head.plan.removals.emplace_back(removal_of(head, head.gone[x]));
    removal.cos = nearest[x].cos;
    if (!(nearest[x].cos >= options_.threshold)) continue;
    const auto group = at(group_of[at(nearest[x].target)]);
    Outcome& outcome = outcomes[group];
    removal.target = nearest[x].target;
    removal.w_removed = merges[group].key_weights[outcome.next++];
    removal.w_target = merges[group].key_weights[0];
    removal.form = outcome.form;
    removal.gamma = outcome.gamma;
    removal.fallback = outcome.fallback;
  }
}

std::vector<double> KeepkvMerger::statistic(const SlotState& slots) const {
  return predicted_shares(slots, options_.predict, options_.group, options_.alpha);
}

}  // namespace kvscope
