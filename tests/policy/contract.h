// SPDX-License-Identifier: Apache-2.0
// What every policy promises after every step (POLICIES.md section 7), checked on a small cache under random queries.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "core/error.h"
#include "policy/near.h"
#include "policy/tiny_lane.h"

namespace kvscope::test {

struct Case {
  std::string spec;
  int group;
  PromptMode mode;
};

inline bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

inline void expect_same(const Plan& a, const Plan& b) {
  ASSERT_EQ(a.removals.size(), b.removals.size());
  for (std::size_t i = 0; i < a.removals.size(); ++i) {
    EXPECT_EQ(a.removals[i].slot, b.removals[i].slot);
    EXPECT_EQ(a.removals[i].target, b.removals[i].target);
    EXPECT_TRUE(same(a.removals[i].score, b.removals[i].score));
    EXPECT_EQ(a.removals[i].w_removed, b.removals[i].w_removed);
  }
  ASSERT_EQ(a.score.size(), b.score.size());
  for (std::size_t i = 0; i < a.score.size(); ++i) EXPECT_TRUE(same(a.score[i], b.score[i]));
}

/// What is not an average by its nature: values that are added to others, and the weights of the authors' code (POLICIES.md section 7).
inline bool leaves_the_hull(const std::string& spec) {
  return spec.starts_with("cam") || spec.find("merge=cam") != std::string::npos || spec.find("form=code") != std::string::npos;
}
/// A score, not the budget, says what goes.
inline bool by_threshold(const std::string& spec) { return spec.starts_with("dms") || spec.find("select=threshold") != std::string::npos; }
/// The budget is the most, not the exact number of slots.
inline bool may_keep_fewer(const std::string& spec) {
  return spec.find("kvmerger") != std::string::npos || spec.find("select=heavy") != std::string::npos ||
         spec.find("drop=") != std::string::npos || spec.starts_with("pages") || spec.find("select=pages") != std::string::npos ||
         by_threshold(spec);
}
/// The number of slots is an outcome.
inline bool may_keep_more(const std::string& spec) {
  return spec.find("fit=threshold") != std::string::npos || spec.starts_with("chunkkv") || spec.find("select=chunks") != std::string::npos;
}

inline bool compresses_prompt(const std::string& spec) { return spec.find("after_prompt=0") == std::string::npos; }

/// Tokens from one compression to the next; 1: any step may be one.
inline int tokens_between(const Policy& policy) {
  for (const ResolvedParam& p : policy.params())
    if (p.key == "every") return static_cast<int>(p.number);
  return 1;
}

/// Slots of areas beside the protected ones: heavy hitters and one run of similar neighbours, or residual slots; 0 where there are none.
inline int room_for_areas(const Policy& policy) {
  for (const ResolvedParam& p : policy.params()) {
    if (p.key == "heavy") return static_cast<int>(p.number) + 1;
    if (p.key == "residual") return static_cast<int>(p.number);
  }
  return 0;
}

inline void expect_legal(const Plan& plan, const TinyHead& head, const Policy& policy, int layer, int kv_head, const std::string& spec) {
  const int n = head.slots.size();
  std::set<int> gone;
  for (const Removal& r : plan.removals) {
    ASSERT_TRUE(r.slot >= 0 && r.slot < n);
    EXPECT_TRUE(gone.insert(r.slot).second) << "slot " << r.slot << " goes twice";
    ASSERT_LT(r.target, n);
    if (r.target >= 0) {
      EXPECT_FALSE(gone.contains(r.target)) << "handed to a slot that is gone already";
      EXPECT_TRUE(r.w_removed >= 0 || leaves_the_hull(spec));
      EXPECT_LE(r.w_removed + r.w_target, 1 + 1e-12);
      EXPECT_TRUE(r.spread.empty());
    }
    for (const int t : r.spread) {
      EXPECT_TRUE(t > r.slot && t < n) << "a value goes to later slots only";
      EXPECT_TRUE(std::ranges::none_of(plan.removals, [t](const Removal& other) { return other.slot == t; })) << "to a slot that goes";
    }
    EXPECT_GE(head.slots.pos[at(r.slot)], policy.sinks()) << "a sink went";
    EXPECT_LT(r.slot, n - policy.recent(layer, kv_head)) << "a recent slot went";
  }
  for (const Merge& m : plan.merges) {
    ASSERT_GE(m.members.size(), m.value.empty() ? 2u : 1u);
    EXPECT_EQ(m.members[0], m.target);
    if (!m.value.empty()) {
      EXPECT_FALSE(gone.contains(m.target)) << "a slot that goes needs no other value";
      EXPECT_EQ(m.value.size(), head.v.front().size());
      EXPECT_TRUE(std::ranges::all_of(m.value, [](double x) { return std::isfinite(x); }));
      EXPECT_EQ(m.members.size(), 1u);
      EXPECT_TRUE(m.value_weights.empty() && m.key_weights.empty());
    }
    EXPECT_EQ(std::set<int>(m.members.begin(), m.members.end()).size(), m.members.size());
    for (const std::vector<double>* weights : {&m.key_weights, &m.value_weights}) {
      if (weights->empty()) continue;
      ASSERT_EQ(weights->size(), m.members.size());
      double sum = 0;
      for (const double w : *weights) {
        EXPECT_TRUE(w >= 0 || leaves_the_hull(spec));
        sum += w;
      }
      EXPECT_TRUE(std::abs(sum - 1) <= 1e-12 || leaves_the_hull(spec)) << sum << ": values stay in the convex hull of what was merged";
    }
  }
  ASSERT_TRUE(plan.score.empty() || plan.score.size() == at(n));
  for (int i = 0; i < n && !plan.score.empty(); ++i)
    if (head.slots.pos[at(i)] < policy.sinks() || i >= n - policy.recent(layer, kv_head)) {
      EXPECT_TRUE(std::isnan(plan.score[at(i)]));
    }
}

inline void expect_consistent(const TinyHead& head, const StatNeeds& needs, int group, int seen) {
  const SlotState& s = head.slots;
  const std::size_t n = s.pos.size();
  std::vector<int> tokens(s.evicted);
  int votes = s.evicted_votes;
  for (std::size_t i = 0; i < n; ++i) {
    const std::span<const int> members = s.members(static_cast<int>(i));
    tokens.insert(tokens.end(), members.begin(), members.end());
    votes += s.votes[i];
    EXPECT_EQ(at(s.votes[i]), members.size());
    EXPECT_TRUE(std::ranges::is_sorted(members));
    EXPECT_TRUE(std::ranges::binary_search(members, s.pos[i]));
  }
  EXPECT_TRUE(s.united.empty() || s.united.size() == n);
  for (const std::vector<int>& members : s.united) EXPECT_NE(members.size(), 1u) << "kept only where there are several";
  std::ranges::sort(tokens);
  std::vector<int> all(at(seen));
  for (int i = 0; i < seen; ++i) all[at(i)] = i;
  EXPECT_EQ(tokens, all) << "every token is kept, merged or evicted, exactly once";
  EXPECT_EQ(votes, seen);
  EXPECT_TRUE(std::ranges::is_sorted(s.pos));
  EXPECT_EQ(head.k.size(), n);
  EXPECT_EQ(s.extra.size(), n);
  EXPECT_EQ(s.times.size(), needs.reads_a() ? n : 0);
  EXPECT_EQ(s.sum.size(), needs.sum ? n : 0);
  EXPECT_EQ(s.decayed.size(), needs.decayed ? n : 0);
  EXPECT_EQ(s.key_norm.size(), needs.key_norm ? n : 0);
  EXPECT_EQ(s.learned.size(), needs.learned ? n : 0);
  EXPECT_EQ(at(s.hits.slots()), needs.hits > 0 ? n : 0);
  EXPECT_EQ(s.residual.size(), needs.residual ? n : 0);
  EXPECT_EQ(s.ema.size(), needs.ema ? n * at(group) : 0);
  EXPECT_EQ(s.z_now.size(), needs.z_now ? n * at(group) : 0);
  EXPECT_LE(s.rows.rows(), needs.rows);
  if (s.rows.rows() > 0) {
    EXPECT_EQ(s.rows.row(0).size(), n);
  }
  if (s.z_rows.rows() > 0) {
    EXPECT_EQ(s.z_rows.row(0).size(), n * at(group));
  }
}

inline void expect_promises(const Case& c, unsigned seed) {
  SCOPED_TRACE(c.spec + (c.mode == PromptMode::stream ? " stream" : " prefill") + " G=" + std::to_string(c.group));
  constexpr int n_prompt = 24, n_more = 14;
  const ModelConfig model = tiny_model(2, 2, c.group);
  TinyLane lane(c.spec, model, n_prompt, c.mode, seed);
  Policy& policy = *lane.policy;
  const bool prefill = c.mode == PromptMode::prefill;
  if (prefill) lane.load(n_prompt);
  for (int step = 0; step < n_more + (prefill ? 1 : n_prompt); ++step) {
    const bool after_prompt = prefill && step == 0;
    if (!after_prompt) lane.step();
    for (int l = 0; l < model.n_layers; ++l) {
      const std::unique_ptr<Policy> twin = policy.clone();
      const std::vector<Plan> plans = lane.plan_layer(l, step, after_prompt), again = lane.plan_layer(l, step, after_prompt, twin.get());
      ASSERT_EQ(plans.size(), at(model.n_kv_heads));
      for (int h = 0; h < model.n_kv_heads; ++h) {
        TinyHead& head = lane.head(l, h);
        const int n = head.slots.size();
        const std::optional<int> budget = policy.budget(l, h);
        expect_same(plans[at(h)], again[at(h)]);
        expect_legal(plans[at(h)], head, policy, l, h, c.spec);
        if ((!budget || n <= *budget) && !by_threshold(c.spec)) {
          EXPECT_TRUE(plans[at(h)].removals.empty()) << "enough room, and yet something goes";
        }
        EXPECT_EQ(head.apply(policy.needs(l), plans[at(h)]).size(), plans[at(h)].removals.size());
        expect_consistent(head, policy.needs(l), model.group(), lane.seen);
        const bool refreshes_late = c.spec.find("refresh") != std::string::npos || tokens_between(policy) > 1;
        if (budget && !may_keep_more(c.spec) && ((after_prompt && compresses_prompt(c.spec)) || (policy.every_step() && !refreshes_late))) {
          // small shares of a split budget, and a budget that was raised to its minimum, of which fractions then take more
          const int n_protected = policy.sinks() + policy.recent(l, h) + room_for_areas(policy);
          EXPECT_LE(head.slots.size(), std::max(*budget, n_protected)) << "the budget is met";
          EXPECT_TRUE(head.slots.size() >= std::min(n, *budget) || may_keep_fewer(c.spec)) << "and used";
        }
        const std::vector<double> statistic = policy.statistic(head.slots);
        EXPECT_TRUE(statistic.empty() || statistic.size() == head.slots.pos.size());
      }
    }
    if (testing::Test::HasFailure()) FAIL() << "seed " << seed << ", step " << step;
  }
  if (policy.limits() && !may_keep_more(c.spec) && policy.recent(0, 0) < n_prompt) {
    int fewest = lane.seen;
    for (const TinyHead& head : lane.heads) fewest = std::min(fewest, head.slots.size());
    EXPECT_LT(fewest, lane.seen) << "the test compressed nothing";
  }
}

/// False where the whole prompt must be seen at once; that is refused, with a sentence.
inline bool works_in_stream(const std::string& spec) {
  const ModelConfig model = tiny_model(2, 2, 1);
  try {
    make_policy(spec, model, 24, PromptMode::stream);
  } catch (const UsageError& e) {
    if (std::string_view(e.what()).find("expected prompt mode prefill") == std::string_view::npos) throw;
    return false;
  }
  return true;
}

}  // namespace kvscope::test
