// SPDX-License-Identifier: Apache-2.0
// One budget over all layers and heads, thresholds, head scores measured on the model: on examples that can be done by hand.
#include <gtest/gtest.h>

#include <cmath>

#include "core/not_available.h"
#include "policy/allocations/flat_allocation.h"
#include "policy/allocations/measured_heads_allocation.h"
#include "policy/catalog.h"
#include "policy/contract.h"
#include "policy/refusal.h"
#include "policy/selections/threshold_selection.h"

namespace kvscope {
namespace {

using Numbers = std::vector<double>;
using Budgets = std::vector<std::optional<int>>;

BudgetShape shape(int n_layers, int n_kv_heads, int slots) {
  return {.n_layers = n_layers, .n_kv_heads = n_kv_heads, .slots = slots, .n_prompt = 100};
}

TEST(FlatAllocation, TheBestOfAllLayersAndHeadsStay) {
  const std::vector<HeadNotes> heads = {{.numbers = {9, 1, 8}, .pos = {1, 2, 3}, .n_protected = 1},
                                        {.numbers = {2, 2, 2}, .pos = {1, 2, 3}, .n_protected = 1},
                                        {.numbers = {7, 6, 0}, .pos = {1, 2, 3}, .n_protected = 1},
                                        {.numbers = {3, 0, 0}, .pos = {1, 2, 3}, .n_protected = 1}};
  // 4 heads of 2 slots, one of them protected: 4 free ones, which are 9, 8, 7, 6
  EXPECT_EQ(FlatAllocation().after_survey(shape(2, 2, 2), heads), (Budgets{3, 1, 3, 1}));
  EXPECT_EQ(FlatAllocation().after_survey(shape(2, 2, 4), heads), (Budgets{4, 4, 4, 4})) << "all of them";
}

TEST(FlatAllocation, OfEqualScoresTheLowerPositionThenTheFirstHeadStays) {
  const std::vector<HeadNotes> heads(3, {.numbers = {5, 5, 5}, .pos = {4, 6, 7}});
  EXPECT_EQ(FlatAllocation().after_survey(shape(3, 1, 1), heads), (Budgets{1, 1, 1})) << "position 4 of each";
  std::vector<HeadNotes> others = heads;
  others[0].pos = {5, 6, 7};
  EXPECT_EQ(FlatAllocation().after_survey(shape(3, 1, 1), others), (Budgets{1, 1, 1})) << "4, 4, and 5 of the first";
  others[0].pos = {8, 9, 10};
  EXPECT_EQ(FlatAllocation().after_survey(shape(3, 1, 2), others), (Budgets{1, 3, 3})) << "4, 4, 6, 6, 7, 7; no head is left with nothing";
}

TEST(FlatAllocation, WhatIsNoNumberRanksLastAndLayersWithWindowsTakeNoPart) {
  const std::vector<HeadNotes> heads = {{}, {.numbers = {kNotAvailable, 1}, .pos = {0, 1}}, {.numbers = {-3, -2}, .pos = {0, 1}}};
  EXPECT_EQ(FlatAllocation().after_survey(shape(3, 1, 1), heads), (Budgets{1, 1, 1})) << "1 and -2 of the two that take part";
}

TEST(FlatAllocation, TheHeadsOfAPolicyHoldTheirSharesFromThenOn) {
  const ModelConfig model = test::tiny_model(3, 2, 1);
  test::TinyLane lane("custom:stat=knorm,alloc=flat,slots=10,sinks=1,recent=2", model, 24, PromptMode::prefill, 5);
  lane.load(24);
  int sum = 0;
  bool alike = true;
  for (int l = 0; l < 3; ++l)
    for (int h = 0; h < 2; ++h) {
      sum += *lane.policy->budget(l, h);
      alike = alike && lane.policy->budget(l, h) == 10;
      EXPECT_GE(*lane.policy->budget(l, h), 3);
    }
  EXPECT_EQ(sum, 60);
  EXPECT_FALSE(alike);
  const int before = *lane.policy->budget(1, 1);
  for (const bool after_prompt : {true, false}) {
    if (!after_prompt) lane.step();
    const std::vector<Plan> plans = lane.plan_layer(1, after_prompt ? 0 : 1, after_prompt);
    lane.head(1, 1).apply(lane.policy->needs(1), plans[1]);
    EXPECT_EQ(lane.head(1, 1).slots.size(), before);
  }
}

TEST(ThresholdSelection, WhatScoresLowerGoesAndABudgetIsTheMost) {
  const SlotState slots = test::slots_of(6);
  const auto kept = [&](std::optional<int> budget) {
    HeadDecision d;
    d.begin({&slots, nullptr, 0, 0});
    d.budget = budget;
    d.is_protected = {1, 0, 0, 0, 0, 0};
    d.plan.score = d.score = {-9, 3, 2, kNotAvailable, 2.5, 1};
    ThresholdSelection(2).select(d, 0);
    EXPECT_EQ(d.budget, budget);
    return d.keep;
  };
  EXPECT_EQ(kept(std::nullopt), (std::vector<int>{0, 1, 2, 4})) << "2 is not below 2; what is no number goes";
  EXPECT_EQ(kept(3), (std::vector<int>{0, 1, 4}));
  EXPECT_EQ(kept(5), (std::vector<int>{0, 1, 2, 4})) << "room for more does not save what is below";
}

TEST(ThresholdSelection, WorksWithoutABudgetInBothModes) {
  for (const PromptMode mode : {PromptMode::prefill, PromptMode::stream})
    test::expect_promises({"dms:threshold=-1.5,recent=3", 3, mode}, 1);
  const ModelConfig model = test::tiny_model(2, 2, 1);
  const std::unique_ptr<Policy> policy = test::make_policy("dms:threshold=-1.5,recent=3", model, 24);
  EXPECT_EQ(policy->budget(0, 0), std::nullopt);
  EXPECT_EQ(policy->recent(0, 0), 3);
  EXPECT_EQ(policy->slots_requested(), -1);
}

TEST(MeasuredHeads, TheAreaSaysHowFarBackAHeadLooks) {
  const Numbers no_rotation = {1, 0, 1, 0, 1, 0, 1, 0};
  EXPECT_NEAR(cumulated_attention(Numbers{3, 1}, Numbers{2, 5}, no_rotation, 4), (1 + 0.75 + 0.5 + 0.25) / 4, 1e-12) << "equal shares";
  // a quarter turn from one position to the next: q = (0, 1) there, k = (1, 0) and (0, 1)
  const Numbers quarter = {1, 0, 0, 1};
  const double first = 1 / (1 + std::exp(1 / std::sqrt(2.0)));
  EXPECT_NEAR(cumulated_attention(Numbers{1, 0}, Numbers{1, 0}, quarter, 2), first + (1 - first) / 2, 1e-12);
  const std::vector<HeadNotes> heads = {{.numbers = {0.7}}, {.numbers = {0.2}}, {}, {.numbers = {0.4}}, {.numbers = {0.9}}};
  EXPECT_EQ(MeasuredHeadsAllocation(0.5, 4, 16).after_survey(shape(5, 1, 9), heads),
            (Budgets{std::nullopt, 20, std::nullopt, 20, std::nullopt}));
}

TEST(Probing, WhatDoesNotGoTogetherIsRefused) {
  for (const char* spec : {"kvzip:slots=9", "duo:slots=9,fly=1", "custom:stat=sum,alloc=flat,slots=9", "custom:stat=probe,slots=9"})
    expect_refused(spec, PromptMode::stream, "expected prompt mode prefill");
  const PromptMode prefill = PromptMode::prefill;
  expect_refused("kvzip", prefill, "expected exactly one of slots=N, ratio=r and bytes=r, got none");
  expect_refused("kvzip:slots=9,repeat=0", prefill, "repeat");
  expect_refused("kvzip:slots=9,refresh=2", prefill, "refresh");
  expect_refused("dms:threshold=low", prefill, "threshold");
  expect_refused("dms:slots=9,ratio=0.5", prefill, "got slots and ratio");
  expect_refused("duo:slots=9,fly=1,heads=auto", prefill, "one source of the heads' scores");
  expect_refused("custom:stat=none,alloc=flat,slots=9", prefill, "no scores by which heads could compete");
  expect_refused("custom:stat=sum,alloc=flat,unit=layer,slots=9", prefill, "gives them different numbers");
  expect_refused("custom:stat=sum,alloc=flat,select=chunks,unit=head,slots=9", prefill, "not in chunks");
  expect_refused("custom:stat=probe,cadence=every_step,slots=9", prefill, "only right after it");
  expect_refused("custom:stat=none,select=threshold", prefill, "nothing to hold against the threshold");
  expect_refused("custom:stat=pooled,select=threshold", prefill, "observation window");
  expect_refused("custom:stat=sum,select=threshold,alloc=pyramid", prefill, "nothing to split");
  expect_refused("custom:stat=lagkv,select=threshold,refresh=3", prefill, "no size that a cache could exceed");
}

}  // namespace
}  // namespace kvscope
