// SPDX-License-Identifier: Apache-2.0
// KeepKV as POLICIES.md section 5 has it: worked numbers, and what must hold for any numbers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "policy/margin.h"
#include "policy/mergers/keepkv_merge.h"
#include "policy/tiny_lane.h"

namespace kvscope {
namespace {

using test::TinyHead;
using test::TinyLane;
using testing::ElementsAre;

constexpr MergeForm kForms[] = {MergeForm::bias, MergeForm::zip, MergeForm::code};

/// Merges `gone` of a head into their nearest kept slots, applies it and returns the plan.
Plan merge(TinyHead& head, std::vector<int> gone, KeepkvMerger::Options options) {
  KeepkvMerger merger(options);
  StatNeeds needs;
  merger.require(needs);
  HeadDecision d;
  const test::RowGeometry keys(head.k);
  d.view = {&head.slots, &keys, 0, 0};
  d.score.assign(head.k.size(), 0.0);
  for (int i = 0; i < head.slots.size(); ++i)
    if (std::ranges::find(gone, i) == gone.end()) d.keep.push_back(i);
  d.gone = std::move(gone);
  merger.merge(d);
  head.apply(needs, d.plan);
  return d.plan;
}

/// A head of these keys and values that has just seen one query per query head.
TinyHead seen_once(const test::Rows& keys, const test::Rows& values, const test::Rows& queries, const StatNeeds& needs) {
  TinyHead head{.slots = {}, .k = keys, .v = values};
  const int group = static_cast<int>(queries.size());
  for (std::size_t i = 0; i < keys.size(); ++i) append_slot(head.slots, needs, group, static_cast<int>(i));
  std::vector<double> a, z;
  for (const auto& q : queries) {
    const std::vector<double> zq = head.logits(q), aq = test::softmax(zq);
    z.insert(z.end(), zq.begin(), zq.end());
    a.insert(a.end(), aq.begin(), aq.end());
  }
  observe_step(head.slots, needs, group, a, z);
  return head;
}

KeepkvMerger::Options current(MergeForm form, double threshold = -2, int group = 1) {
  return {.threshold = threshold, .predict = Predict::current, .form = form, .group = group};
}
StatNeeds needs_of(const KeepkvMerger::Options& options) {
  StatNeeds needs;
  KeepkvMerger(options).require(needs);
  return needs;
}

// s = (2, 4, 1), v = (1, 4, 0), q = 1: the output is 18/7. Tokens 0 and 1 become one.
TEST(KeepKv, OneDimensionalExampleStaysAt18SeventhsExceptInTheAuthorsForm) {
  for (const auto& [form, want, tolerance] :
       {std::tuple{MergeForm::bias, 18 / 7.0, 1e-12}, {MergeForm::zip, 18 / 7.0, 1e-12}, {MergeForm::code, 2.5918, 1e-4}}) {
    const test::Rows keys = {{std::log(2.0)}, {std::log(4.0)}, {0.0}}, values = {{1}, {4}, {0}};
    TinyHead head = seen_once(keys, values, {{1.0}}, needs_of(current(form)));
    EXPECT_NEAR(head.output({1.0}, Bias::votes)[0], 18 / 7.0, 1e-14);
    merge(head, {0}, current(form));
    EXPECT_NEAR(head.output({1.0}, Bias::votes)[0], want, tolerance);
    EXPECT_THAT(head.slots.votes, ElementsAre(2, 1));
    EXPECT_THAT(head.slots.members(0), ElementsAre(0, 1));
    EXPECT_NEAR(head.v[0][0], 3, 1e-14);
  }
}

TEST(KeepKv, WorkedGroupGivesTheNumbersOfEquation7) {
  const KeepkvMerged r =
      merge_group({.p = {1, 1}, .lshat = {std::log(2.0), std::log(4.0)}, .extra = {0, 0}, .log_Z = {std::log(7.0)}}, MergeForm::zip);
  EXPECT_NEAR(r.T[0], 1.09861, 1e-5);  // ln 3
  EXPECT_NEAR(r.m[0], 1.15525, 1e-5);
  EXPECT_NEAR(r.gamma, 0.95098, 1e-5);
  EXPECT_NEAR(r.mu[0], 2 / 7.0, 1e-15);
  EXPECT_NEAR(r.mu[1], 4 / 7.0, 1e-15);
  EXPECT_NEAR(r.w[1], 2 / 3.0, 1e-15);
  EXPECT_EQ(r.P, 2);
  EXPECT_EQ(r.extra, 0);
}

TEST(KeepKv, AKeyThatWouldShrinkToAQuarterIsDoneByBiasAndFlagged) {
  const KeepkvMerged r =
      merge_group({.p = {1, 1}, .lshat = {std::log(0.5), std::log(1.6)}, .extra = {0, 0}, .log_Z = {std::log(3.0)}}, MergeForm::zip);
  EXPECT_NEAR(r.m[0], 0.193, 1e-3);
  EXPECT_NEAR(r.T[0], 0.0488, 1e-4);  // gamma would be .253
  EXPECT_EQ(r.form, MergeForm::bias);
  EXPECT_TRUE(r.fallback);
  EXPECT_TRUE(std::isnan(r.gamma));
  EXPECT_NEAR(r.extra, r.T[0] - r.m[0], 1e-15);
}

// Theorem 2 of the paper: a convex combination without votes has less attention than its parts; with votes (the authors' form) it has more.
TEST(KeepKv, TheoremTwoMMinusTIsAKlDivergenceAndSoNeverNegative) {
  double least_sag = 1e300, least_swell = 1e300;
  std::mt19937 random(1);
  std::normal_distribution<double> normal(0, 2);
  for (int trial = 0; trial < 3000; ++trial) {
    KeepkvGroup M{.log_Z = {0.0}};
    const int n = 2 + static_cast<int>(random() % 4);
    for (int i = 0; i < n; ++i) {
      M.p.push_back(1 + static_cast<double>(random() % 5));
      M.lshat.push_back(normal(random));
      M.extra.push_back(0);
    }
    const KeepkvMerged r = merge_group(M, MergeForm::code);
    double kl = 0, mass = 0;
    for (std::size_t i = 0; i < M.p.size(); ++i) {
      kl += r.w[i] * std::log(r.w[i] * r.P / M.p[i]);
      mass += M.p[i] * std::exp(M.lshat[i]);
    }
    ASSERT_NEAR(r.m[0] - r.T[0], kl, 1e-12);
    ASSERT_GE(kl, -1e-14);
    ASSERT_GE(r.P * std::exp(r.m[0]), mass * (1 - 1e-12)) << "form=code over-weights";
    ASSERT_LT(std::exp(r.m[0]), mass) << "without votes the merged slot would be under-weighted";
    least_sag = std::min(least_sag, 1 - std::exp(r.m[0]) / mass);
    least_swell = std::min(least_swell, r.P * std::exp(r.m[0]) / mass - 1);
  }
  test::report_margin("least attention sag without votes, relative", least_sag);
  test::report_margin("least swell of form=code, relative", least_swell);
}

TEST(KeepKv, SharesTooSmallForADoubleStillSplitByTheirRatio) {
  const KeepkvMerged r =
      merge_group({.p = {1, 1}, .lshat = {-1000, -1000 + std::log(3.0)}, .extra = {0, 0}, .log_Z = {0}}, MergeForm::bias);
  EXPECT_NEAR(r.w[1], 0.75, 1e-12);
}

// With one query head per KV head and predict=current, the output of the current query survives any chain of merges.
// Theorem 3 of the paper (ZIP), and the same for the bias form.
TEST(KeepKv, TheoremThreeAChainOfMergesLeavesTheCurrentOutputAlone) {
  for (const MergeForm form : {MergeForm::bias, MergeForm::zip}) {
    std::mt19937 random(7);
    std::normal_distribution<double> normal;
    const auto row = [&](double scale) {
      std::vector<double> x(16);
      for (double& v : x) v = scale * normal(random);
      return x;
    };
    test::Rows keys, values;
    for (int i = 0; i < 64; ++i) {
      keys.push_back(row(1.5));
      values.push_back(row(1));
    }
    const std::vector<double> q = row(2);
    TinyHead head = seen_once(keys, values, {q}, needs_of(current(form)));
    const std::vector<double> before = head.output(q, Bias::votes);
    int zips = 0;
    while (head.slots.size() > 4) {
      std::vector<int> gone = {static_cast<int>(random() % static_cast<unsigned>(head.slots.size()))};
      if (head.slots.size() > 30) gone = {gone[0] / 2, head.slots.size() - 1 - gone[0] / 3};  // several at once, too
      if (gone.size() == 2 && gone[0] >= gone[1]) gone.pop_back();
      for (const Removal& r : merge(head, gone, current(form)).removals) zips += r.form == MergeForm::zip;
    }
    const std::vector<double> after = head.output(q, Bias::votes);
    double error = 0, norm = 0;
    for (std::size_t d = 0; d < before.size(); ++d) {
      error += (after[d] - before[d]) * (after[d] - before[d]);
      norm += before[d] * before[d];
    }
    EXPECT_LE(std::sqrt(error / norm), 1e-12);
    test::report_margin(form == MergeForm::bias ? "relative error after 60 merges, bias" : "relative error after 60 merges, zip",
                        std::sqrt(error / norm));
    int votes = 0;
    for (const int p : head.slots.votes) votes += p;
    EXPECT_EQ(votes, 64);
    EXPECT_EQ(zips > 0, form == MergeForm::zip);
  }
}

TEST(KeepKv, ExtraIsNeverPositiveForOneQueryHead) {
  TinyLane lane("keepkv:slots=12,sinks=1,threshold=-1,predict=current", test::tiny_model(1, 2, 1), 40, PromptMode::stream, 5);
  bool below = false;
  double highest = -1;
  for (int t = 0; t < 40; ++t) {
    lane.step();
    const std::vector<Plan> plans = lane.plan_layer(0, t, false);
    for (int h = 0; h < 2; ++h) {
      lane.head(0, h).apply(lane.policy->needs(), plans[static_cast<std::size_t>(h)]);
      for (const double extra : lane.head(0, h).slots.extra) {
        EXPECT_LE(extra, 1e-14);
        if (extra != 0) highest = std::max(highest, extra);
        below = below || extra < -1e-3;
      }
    }
  }
  EXPECT_TRUE(below);
  test::report_margin("highest extra of a merged slot", highest);
}

TEST(KeepKv, EqualSlotsMergeWithoutAnyEffectOnLaterQueries) {
  double largest = 0;
  for (const MergeForm form : kForms) {
    std::mt19937 random(2);
    std::normal_distribution<double> normal;
    const auto row = [&](double scale) {
      return std::vector<double>{scale * normal(random), scale * normal(random), scale * normal(random)};
    };
    test::Rows keys, values;
    for (int i = 0; i < 8; ++i) {
      keys.push_back(row(1));
      values.push_back(row(1));
    }
    keys[5] = keys[2];
    values[5] = values[2];
    TinyHead head = seen_once(keys, values, {row(2), row(2), row(2)}, needs_of(current(form, 0.99, 3)));
    test::Rows later, before;
    for (int i = 0; i < 20; ++i) {
      later.push_back(row(3));
      before.push_back(head.output(later.back(), Bias::votes));
    }
    const Plan plan = merge(head, {2}, current(form, 0.99, 3));
    ASSERT_EQ(plan.removals[0].target, 5);
    EXPECT_NEAR(plan.removals[0].cos, 1, 1e-15);
    for (std::size_t i = 0; i < later.size(); ++i)
      for (std::size_t d = 0; d < 3; ++d) {
        const double now = head.output(later[i], Bias::votes)[d];
        EXPECT_NEAR(now, before[i][d], 1e-12);
        largest = std::max(largest, std::abs(now - before[i][d]));
      }
  }
  test::report_margin("largest change of a later output", largest);
}

TEST(KeepKv, BelowTheThresholdATokenIsEvictedAndItsVotesAreCounted) {
  const KeepkvMerger::Options options = current(MergeForm::bias, 0.8);
  TinyHead head = seen_once({{1, 0}, {0, 1}, {1, 0.1}}, {{1, 1}, {2, 2}, {3, 3}}, {{1, 1}}, needs_of(options));
  const Plan plan = merge(head, {0, 1}, options);
  EXPECT_EQ(plan.removals[0].target, 2) << "cos .995";
  EXPECT_EQ(plan.removals[1].target, -1) << "cos .0995";
  EXPECT_NEAR(plan.removals[1].cos, 0.1 / std::sqrt(1.01), 1e-15);
  EXPECT_EQ(plan.removals[1].form, MergeForm::none);
  EXPECT_EQ(head.slots.evicted_votes, 1);
  EXPECT_THAT(head.slots.votes, ElementsAre(2));
}

TEST(KeepKv, OfEquallySimilarTargetsTheLowestPositionWins) {
  const KeepkvMerger::Options options = current(MergeForm::code);
  TinyHead head = seen_once({{2, 0}, {3, 0}, {1, 0}}, {{1, 1}, {2, 2}, {3, 3}}, {{1, 1}}, needs_of(options));
  EXPECT_EQ(merge(head, {2}, options).removals[0].target, 0);
}

TEST(KeepKv, AllThatGoToOneTargetMergeAtOnceWithConvexWeights) {
  const KeepkvMerger::Options options = current(MergeForm::bias);
  TinyHead head = seen_once({{1, 0}, {1, .1}, {1, .2}, {-1, 1}}, {{1, 1}, {2, 2}, {3, 3}, {4, 4}}, {{1, 1}}, needs_of(options));
  const Plan plan = merge(head, {0, 2}, options);
  ASSERT_EQ(plan.merges.size(), 1u);
  EXPECT_THAT(plan.merges[0].members, ElementsAre(1, 0, 2));
  double sum = 0;
  for (const double w : plan.merges[0].value_weights) {
    EXPECT_GT(w, 0);
    sum += w;
  }
  EXPECT_NEAR(sum, 1, 1e-15);
  EXPECT_EQ(plan.removals[0].w_target, plan.removals[1].w_target);
  EXPECT_EQ(plan.removals[1].w_removed, plan.merges[0].value_weights[2]);
}

TEST(KeepKv, TheShownShareIsThePredictedAttention) {
  const KeepkvMerger::Options options = current(MergeForm::bias, -2, 2);
  const test::Rows queries = {{1, 1}, {-1, 2}};
  TinyHead head = seen_once({{1, 0}, {0, 1}, {1, 1}}, {{1, 1}, {2, 2}, {3, 3}}, queries, needs_of(options));
  const std::vector<double> share = KeepkvMerger(options).statistic(head.slots);
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_NEAR(share[i], (head.attention(queries[0], Bias::votes)[i] + head.attention(queries[1], Bias::votes)[i]) / 2, 1e-15);
}

}  // namespace
}  // namespace kvscope
