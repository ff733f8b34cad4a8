// SPDX-License-Identifier: Apache-2.0
// Weights and values that are fitted to what stays, on examples that can be done by hand (POLICIES.md section 4.4, refit).
#include <gtest/gtest.h>

#include <cmath>

#include "core/error.h"
#include "core/not_available.h"
#include "policy/mergers/refit_merge.h"
#include "policy/near.h"
#include "policy/rankings/reference_ranking.h"
#include "policy/tiny_lane.h"

namespace kvscope {
namespace {

using test::expect_near;
using Numbers = std::vector<double>;
using Asked = ReferenceQueries::Asked;
using Rows = ReferenceQueries::Rows;

constexpr double kAlmostNone = 1e-9;  // ridge

/// One head of one query head per token, width 1.
struct Prompt {
  test::Rows keys;
  Numbers queries;

  Rows over(ReferenceQueries asked) const {
    const SlotState slots = test::slots_of(static_cast<int>(keys.size()));
    const test::RowGeometry geometry(keys);
    const test::RowQueries rows(queries, static_cast<int>(keys.front().size()));
    return asked.over({.slots = &slots, .keys = &geometry, .queries = &rows});
  }
};

TEST(ReferenceQueries, SeeAllSlotsOrThoseUpToTheirOwn) {
  const Prompt prompt{.keys = {{0, 0}, {std::log(2) * std::sqrt(2), 0}}, .queries = {1, 0, -1, 0}};
  const Rows whole = prompt.over({.asked = Asked::whole}), observed = prompt.over({.asked = Asked::observed});
  expect_near(whole.exp_logit, {0.5, 1, 1, 0.5}, 1e-12);
  expect_near(whole.mass, {1.5, 1.5}, 1e-12);
  expect_near(observed.exp_logit, {1, 0, 1, 0.5}, 1e-12);
  expect_near(observed.mass, {1, 1.5}, 1e-12);
}

TEST(ReferenceQueries, LogitsAreThoseOfTheLayer) {
  const Prompt prompt{.keys = {{0, 0}, {std::log(2), 0}}, .queries = {1, 0, 1, 0}};
  expect_near(prompt.over({.asked = Asked::whole, .logits = {{.scale = 2, .cap = 0}}}).exp_logit, {0.25, 1, 0.25, 1}, 1e-12);
  const double capped = std::exp(-0.5 * std::tanh(std::log(4) / 0.5));
  expect_near(prompt.over({.asked = Asked::whole, .logits = {{.scale = 2, .cap = 0.5}}}).exp_logit, {capped, 1, capped, 1}, 1e-12);
}

TEST(ReferenceQueries, OfALongPromptEvenlySpacedTokensCount) {
  const Prompt prompt{.keys = test::Rows(6, {0, 0}), .queries = Numbers(12, 1.0)};
  expect_near(prompt.over({.asked = Asked::observed, .logits = {}, .most = 3}).mass, {1, 3, 5}, 1e-12);
  EXPECT_EQ(prompt.over({}).mass.size(), 6u);
}

TEST(ReferenceRanking, RootMeanSquareOrLargest) {
  const Prompt prompt{.keys = {{0, 0}, {std::log(3) * std::sqrt(2), 0}}, .queries = {1, 0, 0, 0}};  // shares (1/4, 3/4) and (1/2, 1/2)
  const SlotState slots = test::slots_of(2);
  const test::RowGeometry geometry(prompt.keys);
  const test::RowQueries rows(prompt.queries, 2);
  const HeadView head{.slots = &slots, .keys = &geometry, .queries = &rows};
  const ReferenceQueries queries{.asked = Asked::whole};
  expect_near(ReferenceRanking(queries, false).score(head), {std::sqrt(5.0 / 32), std::sqrt(13.0 / 32)}, 1e-12);
  expect_near(ReferenceRanking(queries, true).score(head), {0.5, 0.75}, 1e-12);
}

TEST(Refit, ASlotAnswersForItsTwin) {
  const Rows rows{.n = 3, .exp_logit = {1, 1, 0.5, 0.5, 0.5, 1}, .mass = {2.5, 2}};  // the first two are alike
  const Refitted fit = refit(rows, std::vector{0, 2}, Numbers{2, 4, 7}, kAlmostNone, 3);
  expect_near(fit.weight, {2, 1}, 1e-6);
  expect_near(fit.values, {3, 7}, 1e-6);
}

TEST(Refit, WhatNoQuerySeesStaysAsItIs) {
  const Rows rows{.n = 3, .exp_logit = {1, 0.2, 0, 1, 0.4, 0}, .mass = {1.2, 1.4}};
  const Refitted fit = refit(rows, std::vector{0, 2}, Numbers{2, 4, 7}, 0.01, 3);
  EXPECT_NEAR(fit.weight[1], 1, 1e-12);
  EXPECT_EQ(fit.values[1], 7);
  EXPECT_NE(fit.values[0], 2);
}

TEST(Refit, AQueryThatSeesNothingOfWhatStaysDoesNotCount) {
  const Rows one{.n = 2, .exp_logit = {0.5, 1}, .mass = {1.5}}, two{.n = 2, .exp_logit = {1, 0, 0.5, 1}, .mass = {1, 1.5}};
  const Refitted a = refit(one, std::vector{1}, Numbers{2, 4}, 0.01, 3), b = refit(two, std::vector{1}, Numbers{2, 4}, 0.01, 3);
  EXPECT_EQ(a.weight, b.weight);
  EXPECT_EQ(a.values, b.values);
}

TEST(Refit, ABiasHasALimitAndZeroLeavesTheValuesAlone) {
  const Rows rows{.n = 3, .exp_logit = {1, 1, 1}, .mass = {3}};
  EXPECT_NEAR(refit(rows, std::vector{1}, Numbers{1, 2, 6}, kAlmostNone, 0.5).weight[0], std::exp(0.5), 1e-12);
  const Refitted values_only = refit(rows, std::vector{1}, Numbers{1, 2, 6}, kAlmostNone, 0);
  EXPECT_EQ(values_only.weight[0], 1);
  EXPECT_NEAR(values_only.values[0], 3, 1e-6);
}

TEST(Refit, WhatIsNotFiniteIsNotFitted) {
  const Rows rows{.n = 2, .exp_logit = {kNotAvailable, 1}, .mass = {kNotAvailable}};
  const Refitted fit = refit(rows, std::vector{0}, Numbers{1, 2}, 0.01, 3);
  EXPECT_TRUE(fit.weight.empty() && fit.values.empty());
}

/// Mean over queries of |output of what stays - output of all|^2.
double error_of(const Rows& rows, const std::vector<int>& kept, const Numbers& weight, const Numbers& kept_values, const Numbers& values) {
  const std::size_t width = values.size() / rows.n;
  double sum = 0;
  for (std::size_t r = 0; r < rows.mass.size(); ++r) {
    Numbers missing(width, 0.0);
    double mass = 0;
    for (std::size_t x = 0; x < kept.size(); ++x) mass += weight[x] * rows.exp_logit[r * rows.n + static_cast<std::size_t>(kept[x])];
    for (std::size_t c = 0; c < width; ++c) {
      for (std::size_t i = 0; i < rows.n; ++i) missing[c] += rows.exp_logit[r * rows.n + i] / rows.mass[r] * values[i * width + c];
      for (std::size_t x = 0; x < kept.size(); ++x)
        missing[c] -= weight[x] * rows.exp_logit[r * rows.n + static_cast<std::size_t>(kept[x])] / mass * kept_values[x * width + c];
      sum += missing[c] * missing[c];
    }
  }
  return sum;
}

TEST(Refit, TheValuesAreTheBestThereAre) {
  std::mt19937 random(2);
  std::normal_distribution<double> normal;
  Rows rows{.n = 12, .exp_logit = {}, .mass = {}};
  Numbers values(rows.n * 3);
  for (double& x : values) x = normal(random);
  for (int r = 0; r < 40; ++r) {
    double mass = 0;
    for (std::size_t i = 0; i < rows.n; ++i) mass += rows.exp_logit.emplace_back(std::exp(normal(random)));
    rows.mass.push_back(mass);
  }
  const std::vector<int> kept = {0, 3, 4, 9};
  const Refitted fit = refit(rows, kept, values, kAlmostNone, 3);
  const double best = error_of(rows, kept, fit.weight, fit.values, values), of_all = error_of(rows, {0}, {1}, Numbers(3, 0.0), values);
  Numbers as_they_were;
  for (const int i : kept)
    as_they_were.insert(as_they_were.end(), values.begin() + std::ptrdiff_t{3} * i, values.begin() + std::ptrdiff_t{3} * (i + 1));
  const double before = error_of(rows, kept, Numbers(4, 1.0), as_they_were, values);
  EXPECT_LT(best, 0.5 * before);
  EXPECT_NEAR(fit.error_before, std::sqrt(before / of_all), 1e-9);
  EXPECT_NEAR(fit.error_after, std::sqrt(best / of_all), 1e-9);
  for (std::size_t i = 0; i < fit.values.size(); ++i)
    for (const double step : {-1e-3, 1e-3}) {
      Numbers other = fit.values;
      other[i] += step;
      EXPECT_GT(error_of(rows, kept, fit.weight, other, values), best) << i;
    }
}

TEST(Refit, WhatGoesIsEvictedAndWhatStaysIsFitted) {
  const ModelConfig model = test::tiny_model(1, 1, 2);
  test::TinyLane lane("refit:slots=8,sinks=1,alloc=uniform", model, 20, PromptMode::prefill, 3);
  lane.load(20);
  test::TinyHead& head = lane.head(0, 0);
  const test::Rows keys = head.k;
  const std::vector<Plan> plans = lane.plan_layer(0, 0, true);
  ASSERT_EQ(plans[0].removals.size(), 12u);
  ASSERT_EQ(plans[0].merges.size(), 8u);
  for (const Removal& r : plans[0].removals) EXPECT_EQ(r.target, -1);
  head.apply(lane.policy->needs(0), plans[0]);
  EXPECT_EQ(head.slots.evicted_votes, 12);
  const Numbers bias = bias_of(head.slots, lane.policy->bias());
  ASSERT_EQ(bias.size(), 8u);
  for (std::size_t i = 0; i < bias.size(); ++i) {
    const auto pos = static_cast<std::size_t>(head.slots.pos[i]);
    EXPECT_EQ(head.k[i], keys[pos]) << "keys stay";
    test::Rows moved = {head.v[i], {keys[pos].rbegin(), keys[pos].rend()}};  // which the policy was shown as values
    for (std::size_t d = 0; d < moved[0].size(); ++d) moved[0][d] -= moved[1][d];
    EXPECT_NEAR(plans[0].merges[i].value_change, std::sqrt(test::dot(moved[0], moved[0]) / test::dot(moved[1], moved[1])), 1e-12);
    EXPECT_TRUE(bias[i] != 0 && std::abs(bias[i]) <= 3) << bias[i];
  }
  lane.step();
  EXPECT_TRUE(lane.plan_layer(0, 1, false)[0].removals.empty()) << "once";
}

TEST(Refit, NeedsTheWholePrompt) {
  const ModelConfig model = test::tiny_model(1, 1, 1);
  for (const char* spec : {"refit:slots=8", "custom:slots=8,stat=knorm,merge=refit"}) {
    EXPECT_TRUE(test::make_policy(spec, model, 20)->needs().prompt_queries) << spec;
    EXPECT_THROW(test::make_policy(spec, model, 20, PromptMode::stream), UsageError) << spec;
  }
}

}  // namespace
}  // namespace kvscope
