// SPDX-License-Identifier: Apache-2.0
#include "policy/apply_plan.h"

#include <algorithm>

#include "core/place.h"
#include "core/vector_math.h"

namespace kvscope {
namespace {

/// ln of whole numbers: a cache has many slots and few different numbers of votes.
double log_of(int votes) {
  static const std::vector<double> logs = [] {
    std::vector<double> out(1024);
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = log_one(static_cast<double>(i));
    return out;
  }();
  return at(votes) < logs.size() ? logs[at(votes)] : log_one(votes);
}

}  // namespace

std::vector<int> apply_plan(SlotState& state, const StatNeeds& needs, const Plan& plan) {
  std::vector<int> gone;
  gone.reserve(plan.removals.size());
  for (const Removal& r : plan.removals) {
    if (r.target >= 0)
      unite(state, r.target, r.slot);
    else
      lose(state, r.slot);
    gone.push_back(r.slot);
  }
  for (const Merge& m : plan.merges) {
    if (m.extra) state.extra[at(m.target)] = *m.extra;
    if (!m.log_score.empty()) set_log_score(state, needs, m.target, m.log_score);
    if (m.decayed && needs.decayed) state.decayed[at(m.target)] = *m.decayed;
    if (needs.stored) state.stored[at(m.target)] = {};  // it is a new row now
  }
  for (const int i : plan.to_residual) state.residual[at(i)] = 1;
  std::ranges::sort(gone);
  remove_slots(state, gone);
  return gone;
}

std::vector<double> bias_of(const SlotState& state, Bias bias) {
  if (bias.vote_factor == 0) return {};
  const auto is = [](auto value) { return [value](auto x) { return x == value; }; };
  if (std::ranges::all_of(state.votes, is(1)) && std::ranges::all_of(state.extra, is(0.0))) return {};
  bool zero = true;
  std::vector<double> b(at(state.size()));
  for (std::size_t i = 0; i < b.size(); ++i) {
    const int votes = state.votes[i];
    b[i] = votes == 1 ? state.extra[i] : state.extra[i] + bias.vote_factor * log_of(votes);
    zero = zero && b[i] == 0.0;
  }
  if (zero) b.clear();
  return b;
}

}  // namespace kvscope
