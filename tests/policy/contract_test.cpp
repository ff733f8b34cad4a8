// SPDX-License-Identifier: Apache-2.0
// What every policy promises (POLICIES.md section 7), for every row of the catalog with every choice of its keys.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "policy/catalog.h"
#include "policy/tiny_lane.h"

namespace kvscope {
namespace {

using test::TinyHead;
using test::TinyLane;

std::size_t at(int i) { return static_cast<std::size_t>(i); }

/// Every row with its defaults, with every choice of every key, and with small numbers, at two budgets.
std::vector<std::string> specs() {
  std::vector<std::string> out;
  for (const PolicyInfo& info : policies()) {
    const bool unlimited = info.name == reference_policy();
    for (const char* budget : {"slots=9", "ratio=0.45"}) {
      const std::string start = info.name + ':' + (unlimited ? "" : budget);
      out.push_back(start);
      if (unlimited) break;
      const auto knows = [&](const char* key) { return std::ranges::find(info.params, key, &ParamInfo::key) != info.params.end(); };
      for (const ParamInfo& p : info.params)
        for (const std::string& choice : p.choices) out.push_back(start + ',' + p.key + '=' + choice);
      if (knows("sinks")) out.push_back(start + ",sinks=2");
      if (knows("recent")) out.push_back(start + ",recent=0");
      if (knows("window")) out.push_back(start + ",window=3");
      if (knows("threshold")) out.push_back(start + ",threshold=-1");
      if (knows("refresh")) out.push_back(start + ",refresh=2");
    }
  }
  return out;
}

struct Case {
  std::string spec;
  int group;
  PromptMode mode;
};

class Contract : public testing::TestWithParam<Case> {};

bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

void expect_same(const Plan& a, const Plan& b) {
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

void expect_legal(const Plan& plan, const TinyHead& head, const Policy& policy, int layer, int kv_head) {
  const int n = head.slots.size();
  std::set<int> gone;
  for (const Removal& r : plan.removals) {
    ASSERT_TRUE(r.slot >= 0 && r.slot < n);
    EXPECT_TRUE(gone.insert(r.slot).second) << "slot " << r.slot << " goes twice";
    ASSERT_LT(r.target, n);
    if (r.target >= 0) {
      EXPECT_FALSE(gone.contains(r.target)) << "handed to a slot that is gone already";
      EXPECT_GE(r.w_removed, 0);
      EXPECT_NEAR(policy.bias() == Bias::none ? r.w_removed + r.w_target : 1, 1, 1e-12);
    }
    EXPECT_GE(head.slots.pos[at(r.slot)], policy.sinks()) << "a sink went";
    EXPECT_LT(r.slot, n - policy.recent(layer, kv_head)) << "a recent slot went";
  }
  for (const Merge& m : plan.merges) {
    ASSERT_GE(m.members.size(), 2u);
    EXPECT_EQ(m.members[0], m.target);
    EXPECT_EQ(std::set<int>(m.members.begin(), m.members.end()).size(), m.members.size());
    for (const std::vector<double>* weights : {&m.key_weights, &m.value_weights}) {
      if (weights->empty()) continue;
      ASSERT_EQ(weights->size(), m.members.size());
      double sum = 0;
      for (const double w : *weights) {
        EXPECT_GE(w, 0);
        sum += w;
      }
      EXPECT_NEAR(sum, 1, 1e-12) << "values stay in the convex hull of what was merged";
    }
  }
  ASSERT_TRUE(plan.score.empty() || plan.score.size() == at(n));
  for (int i = 0; i < n && !plan.score.empty(); ++i)
    if (head.slots.pos[at(i)] < policy.sinks() || i >= n - policy.recent(layer, kv_head)) {
      EXPECT_TRUE(std::isnan(plan.score[at(i)]));
    }
}

void expect_consistent(const TinyHead& head, const StatNeeds& needs, int group, int seen) {
  const SlotState& s = head.slots;
  const std::size_t n = s.pos.size();
  std::vector<int> tokens(s.evicted);
  int votes = s.evicted_votes;
  for (std::size_t i = 0; i < n; ++i) {
    tokens.insert(tokens.end(), s.members[i].begin(), s.members[i].end());
    votes += s.votes[i];
    EXPECT_EQ(at(s.votes[i]), s.members[i].size());
    EXPECT_TRUE(std::ranges::is_sorted(s.members[i]));
    EXPECT_TRUE(std::ranges::binary_search(s.members[i], s.pos[i]));
  }
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

TEST_P(Contract, HoldsAfterEveryStep) {
  constexpr int n_prompt = 24, n_more = 14;
  for (unsigned seed = 1; seed <= 3; ++seed) {
    const ModelConfig model = test::tiny_model(2, 2, GetParam().group);
    TinyLane lane(GetParam().spec, model, n_prompt, GetParam().mode, seed);
    Policy& policy = *lane.policy;
    const bool prefill = GetParam().mode == PromptMode::prefill;
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
          expect_legal(plans[at(h)], head, policy, l, h);
          if (!budget || n <= *budget) {
            EXPECT_TRUE(plans[at(h)].removals.empty()) << "enough room, and yet something goes";
          }
          const std::vector<int> kept = head.apply(policy.needs(), plans[at(h)]);
          EXPECT_EQ(kept.size(), at(n) - plans[at(h)].removals.size());
          expect_consistent(head, policy.needs(), model.group(), lane.seen);
          const bool refreshes_late = GetParam().spec.find("refresh") != std::string::npos;
          if (budget && (after_prompt || (policy.every_step() && !refreshes_late))) {
            EXPECT_EQ(head.slots.size(), std::min(n, *budget)) << "the budget is met and used";
          }
          const std::vector<double> statistic = policy.statistic(head.slots);
          EXPECT_TRUE(statistic.empty() || statistic.size() == head.slots.pos.size());
        }
      }
      if (HasFailure()) FAIL() << "seed " << seed << ", step " << step;
    }
    if (policy.compresses()) {
      EXPECT_LT(lane.head(0, 0).slots.size(), lane.seen) << "the test compressed nothing";
    }
  }
}

std::vector<Case> cases() {
  std::vector<Case> out;
  for (const std::string& spec : specs())
    for (const int group : {1, 3})
      for (const PromptMode mode : {PromptMode::prefill, PromptMode::stream}) out.push_back({spec, group, mode});
  return out;
}

std::string name_of(const testing::TestParamInfo<Case>& info) {
  std::string name;
  for (const char c : info.param.spec) name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name + "_G" + std::to_string(info.param.group) + (info.param.mode == PromptMode::stream ? "_stream" : "_prefill");
}

INSTANTIATE_TEST_SUITE_P(EveryRow, Contract, testing::ValuesIn(cases()), name_of);

TEST(ContractSuite, CoversEveryRowOfTheCatalog) {
  std::set<std::string> rows, covered;
  for (const PolicyInfo& info : policies()) rows.insert(info.name);
  for (const Case& c : cases()) covered.insert(c.spec.substr(0, c.spec.find(':')));
  EXPECT_EQ(rows, covered);
  EXPECT_GE(rows.size(), 7u);
}

}  // namespace
}  // namespace kvscope
