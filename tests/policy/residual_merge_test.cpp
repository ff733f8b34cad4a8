// SPDX-License-Identifier: Apache-2.0
#include "policy/mergers/residual_merge.h"
#include "policy/margin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "policy/selections/area_selection.h"
#include "policy/tiny_lane.h"

namespace kvscope {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

const StatNeeds kNeeds{.decayed = true, .residual = true};

/// Slots with one-number keys (values alike) and decayed scores; one recent slot, no sinks.
struct ResidualExample {
  test::TinyHead head;

  ResidualExample(const std::vector<double>& keys, const std::vector<double>& decayed) {
    for (int i = 0; i < static_cast<int>(keys.size()); ++i) append_slot(head.slots, kNeeds, 1, i);
    head.slots.decayed = decayed;
    for (const double k : keys) {
      head.k.push_back({k});
      head.v.push_back({k});
    }
  }
  Plan run(int budget, int places) {
    const test::RowGeometry keys(head.k);
    HeadDecision d;
    d.view = {&head.slots, &keys, 0, 0};
    d.budget = budget;
    d.is_protected = protected_mask(head.slots, {0, 1});
    d.score = d.plan.score = head.slots.decayed;
    ContextSelection(places).select(d, 0);
    ResidualMerger(places, /*decayed=*/true).merge(d);
    head.apply(kNeeds, d.plan);
    return d.plan;
  }
};

TEST(ResidualMerge, ThePapersOneDimensionalExample) {
  // k = 0 and ln 4 with s = 1 and 4: one slot of key ln 2 that counts for two
  for (const auto& [alpha, mass] : {std::pair{1.0, 4.0}, std::pair{0.6, std::pow(2, 0.6) * 2}}) {
    ResidualExample x({0, std::log(4), 1, 1}, {.1, .2, .9, .9});
    const Plan plan = x.run(/*budget=*/3, /*places=*/1);
    EXPECT_THAT(plan.to_residual, ElementsAre(0)) << "the first one takes the free place";
    ASSERT_THAT(plan.removals, SizeIs(1));
    EXPECT_EQ(plan.removals[0].target, 0);
    EXPECT_EQ(plan.removals[0].w_removed, .5);
    EXPECT_THAT(x.head.slots.votes, ElementsAre(2, 1, 1));
    EXPECT_THAT(x.head.slots.pos, ElementsAre(0, 2, 3));
    EXPECT_NEAR(x.head.k[0][0], std::log(2), 1e-15);
    EXPECT_NEAR(std::exp(x.head.k[0][0] + bias_of(x.head.slots, Bias{alpha})[0]), mass, 1e-12) << "never more than the 5 it stands for";
    EXPECT_EQ(x.head.slots.decayed[0], .2) << "the larger score";
    EXPECT_EQ(plan.score[0], .2) << "and it is the one that is shown";
    EXPECT_THAT(x.head.slots.residual, ElementsAre(1, 0, 0));
  }
}

TEST(ResidualMerge, TheDotProductDecidesNotTheCosine) {
  // residual keys .5 and 3; the one that comes (1) has cosine 1 to both
  ResidualExample x({.5, 3, 1, 9, 9}, {.1, .2, .3, .9, .9});
  const Plan plan = x.run(/*budget=*/4, /*places=*/2);
  EXPECT_THAT(plan.to_residual, ElementsAre(0, 1));
  EXPECT_EQ(plan.removals[0].target, 1);
  EXPECT_EQ(x.head.k[1][0], 2);
}

TEST(ResidualMerge, LaterOnesSeeTheKeysThatEarlierOnesLeftBehind) {
  // places 2 and 3. -10 prefers 2 and turns it into -4; then -1 prefers that one, and 3 stays
  ResidualExample x({2, 3, -10, -1, 9, 9}, {.1, .1, .1, .1, .9, .9});
  const Plan plan = x.run(/*budget=*/4, /*places=*/2);
  ASSERT_THAT(plan.removals, SizeIs(2));
  EXPECT_EQ(plan.removals[0].target, 0);
  EXPECT_EQ(plan.removals[1].target, 0);
  EXPECT_DOUBLE_EQ(plan.removals[1].w_target, 2 / 3.0);
  ASSERT_THAT(plan.merges, SizeIs(1)) << "one mean instead of two";
  EXPECT_THAT(plan.merges[0].members, ElementsAre(0, 2, 3));
  EXPECT_DOUBLE_EQ(x.head.k[0][0], (2 - 10 - 1) / 3.0);
}

TEST(ResidualMerge, AFreePlaceIsTakenBelowTheBudgetAndChangesNothing) {
  // budget 6: one recent, two residual places, so three for the context; four are there
  ResidualExample x({1, 2, 3, 4, 5}, {.4, .1, .3, .2, .9});
  const Plan plan = x.run(/*budget=*/6, /*places=*/2);
  EXPECT_THAT(plan.removals, IsEmpty());
  EXPECT_THAT(plan.to_residual, ElementsAre(1)) << "the lowest score";
  EXPECT_THAT(x.head.slots.votes, ElementsAre(1, 1, 1, 1, 1));
  EXPECT_THAT(bias_of(x.head.slots, Bias{.6}), IsEmpty());
}

TEST(ResidualMerge, AResidualSlotIsNeverRankedAway) {
  ResidualExample x({1, 2, 3, 4}, {.1, .9, .9, .9});
  x.head.slots.residual = {1, 0, 0, 0};
  const Plan plan = x.run(/*budget=*/3, /*places=*/1);
  ASSERT_THAT(plan.removals, SizeIs(1));
  EXPECT_EQ(plan.removals[0].slot, 2) << "equal scores: the later one goes";
  EXPECT_EQ(plan.removals[0].target, 0);
}

TEST(ResidualMerge, TheoremThreePointOneAnUnmergedTokenNeverLosesAttention) {
  // Theorem 3.1 of the paper, for alpha = 1 and .6: means weighted by counts, so the merged slot has at most the mass it stands for
  for (const double alpha : {1.0, .6}) {
    double least = 1e300;
    std::mt19937 random(5);
    std::normal_distribution<double> normal;
    for (int round = 0; round < 200; ++round) {
      ResidualExample x(std::vector<double>(12, 0.0), std::vector<double>(12, 0.0));
      for (int i = 0; i < 12; ++i) {
        x.head.k[static_cast<std::size_t>(i)][0] = normal(random);
        x.head.slots.decayed[static_cast<std::size_t>(i)] = std::abs(normal(random));
      }
      const std::vector<double> q = {normal(random)};
      const std::vector<double> before = x.head.attention(q, Bias::none);
      x.run(/*budget=*/5, /*places=*/2);
      const std::vector<double> after = x.head.attention(q, Bias{alpha});
      for (std::size_t i = 0; i < after.size(); ++i)
        if (x.head.slots.votes[i] == 1) {
          const double was = before[static_cast<std::size_t>(x.head.slots.pos[i])];
          EXPECT_GE(after[i], was - 1e-12);
          least = std::min(least, after[i] / was - 1);
        }
    }
    test::report_margin(alpha == 1 ? "least gain of an unmerged token, alpha 1" : "least gain of an unmerged token, alpha 0.6", least);
  }
}

TEST(DecayedSum, OldRowsCountLess) {
  StatNeeds needs{.decayed = true, .lambda = .5};
  SlotState s;
  append_slot(s, needs, 1, 0);
  observe_step(s, needs, 1, std::vector{1.0}, {});
  append_slot(s, needs, 1, 1);
  observe_step(s, needs, 1, std::vector{.75, .25}, {});
  append_slot(s, needs, 1, 2);
  observe_step(s, needs, 1, std::vector{.5, .25, .25}, {});
  EXPECT_THAT(s.decayed, ElementsAre(.25 + .375 + .5, .125 + .25, .25));
  SlotState loaded;
  load_prompt(loaded, needs, 1, {.n = 3, .sums = {{{.power = 1, .decay = needs.lambda}, s.decayed}}});
  EXPECT_EQ(loaded.decayed, s.decayed);
}

}  // namespace
}  // namespace kvscope
