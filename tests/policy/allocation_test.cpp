// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "core/error.h"
#include "policy/allocations/curve_allocation.h"
#include "policy/allocations/head_allocations.h"
#include "policy/allocations/layer_allocations.h"
#include "policy/rules.h"
#include "policy/tiny_lane.h"

namespace kvscope {
namespace {

using testing::DoubleNear;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

int sum_of(const std::vector<int>& v) { return std::accumulate(v.begin(), v.end(), 0); }

TEST(Allocation, APyramidOf32LayersFallsFrom234To6) {
  const std::vector<double> shares = pyramid_shares(32, 120, 20, 4096);
  EXPECT_NEAR(shares.front(), 234, 1e-9);
  EXPECT_NEAR(shares.back(), 6, 1e-9);
  const std::vector<int> budgets = largest_remainder(shares, 32 * 120);
  EXPECT_EQ(sum_of(budgets), 32 * 120);
  EXPECT_TRUE(std::ranges::is_sorted(budgets, std::greater{}));
}

TEST(Allocation, APyramidIsFlatterWhereTheTextIsShort) {
  const std::vector<double> shares = pyramid_shares(4, 10, 20, 12);
  EXPECT_NEAR(shares.front(), 12, 1e-12);
  EXPECT_NEAR(shares.back(), 8, 1e-12);
  EXPECT_EQ(sum_of(largest_remainder(shares, 40)), 40);
}

TEST(Allocation, AllHeadsOfAPyramidLayerGetTheSameAndTheWindowOnTop) {
  EXPECT_THAT(PyramidAllocation(2).budgets({.n_layers = 3, .n_kv_heads = 2, .slots = 14, .observed = 4, .n_prompt = 100}),
              ElementsAre(19, 19, 14, 14, 9, 9));
  EXPECT_THAT(PyramidAllocation(2).budgets({.n_layers = 1, .n_kv_heads = 1, .slots = 14, .observed = 4, .n_prompt = 100}), ElementsAre(14));
}

TEST(Allocation, APyramidOfAllSlotsHasTheWindowInItAndRoundsEveryLayer) {
  const auto layers = [](double ratio, int observed) {
    return PyramidAllocation(2, true, PyramidAllocation::Splits::all, ratio)
        .budgets({.n_layers = 3, .n_kv_heads = 1, .slots = 14, .observed = observed, .n_prompt = 100});
  };
  EXPECT_THAT(layers(0, 4), ElementsAre(21, 14, 7));
  EXPECT_THAT(layers(0.15, 4), ElementsAre(22, 15, 8)) << "22.5 and 7.5, each to even";
  EXPECT_THAT(layers(0, 8), ElementsAre(14, 14, 14)) << "the last layer has no room for the window";
}

TEST(Allocation, DecayingBudgetsKeepTheirMeanAndFallWithTheLayer) {
  for (const auto& [decay, last] : {std::pair{.9, .2}, {.8, .035}}) {
    const std::vector<double> shares = decaying_shares(32, 100, decay);
    EXPECT_NEAR(std::accumulate(shares.begin(), shares.end(), 0.0), 3200, 1e-9);
    EXPECT_NEAR(shares.back() / shares.front(), last, 2e-3);
  }
  EXPECT_THAT(decaying_shares(8, 10, 1.0), Each(DoubleNear(10, 1e-12)));
}

TEST(Allocation, HeadsWithMoreOfTheBestScoresGetMore) {
  const std::vector<std::vector<double>> scores = {{9, 8, 7, 6, 5, 4, 3, .1}, {3.5, .2, .1, 0, 0, 0, 0, 0}};
  const std::vector<std::vector<int>> pos(2, {0, 1, 2, 3, 4, 5, 6, 7});
  const auto caps = [&](double alpha, int most) { return joint_budgets(scores, pos, 4, alpha, std::vector{most, 8}).caps; };
  EXPECT_THAT(joint_budgets(scores, pos, 4, .5, std::vector{8, 8}).counts, ElementsAre(7, 1));
  EXPECT_THAT(caps(.5, 8), ElementsAre(6, 2));
  EXPECT_THAT(caps(.2, 8), ElementsAre(6, 2));
  EXPECT_THAT(caps(1, 8), ElementsAre(4, 4)) << "the safeguard alone";
  EXPECT_THAT(caps(0, 8), ElementsAre(7, 1)) << "no safeguard";
  EXPECT_THAT(caps(0, 5), ElementsAre(5, 3)) << "what a head cannot hold goes to the next";
}

TEST(Allocation, OfEqualScoresTheLowerPositionThenTheLowerHeadCounts) {
  EXPECT_THAT(
      joint_budgets(std::vector<std::vector<double>>{{1}, {1}}, std::vector<std::vector<int>>{{5}, {3}}, 0, 0, std::vector{1, 1}).counts,
      ElementsAre(0, 0));
  EXPECT_THAT(joint_budgets(std::vector<std::vector<double>>{{1, 0}, {1, 0}}, std::vector<std::vector<int>>{{5, 6}, {3, 6}}, 1, 0,
                            std::vector{2, 2})
                  .counts,
              ElementsAre(1, 1));
  EXPECT_THAT(
      joint_budgets(std::vector<std::vector<double>>{{1, 1}, {1}}, std::vector<std::vector<int>>{{2, 3}, {2}}, 1, 0, std::vector{2, 2})
          .counts,
      ElementsAre(1, 1));
}

// ---- files

using Row = std::optional<std::vector<double>>;

std::shared_ptr<const HeadTable> rows(std::vector<Row> numbers) {
  return std::make_shared<const HeadTable>(HeadTable{.path = "f.json", .kind = HeadTable::Kind::list, .rows = std::move(numbers)});
}

std::shared_ptr<const HeadTable> entries(std::map<std::string, double> numbers) {
  return std::make_shared<const HeadTable>(HeadTable{.path = "f.json", .kind = HeadTable::Kind::object, .entries = std::move(numbers)});
}

std::string table_refusal(std::shared_ptr<const HeadTable> table) {
  try {
    ImportanceAllocation(std::move(table), 1.5, 1).budgets({.n_layers = 1, .n_kv_heads = 2, .slots = 8, .observed = 2, .n_prompt = 100});
  } catch (const UsageError& e) {
    return e.what();
  }
  return "";
}

TEST(HeadTables, ImportanceOfTheGroupSplitsAShareOfTheBudget) {
  // B = 6, P = 6 / 1.5 = 4; importances 3 : 1 of a sum of 4, so 2 * 4 * 3/4 + 2 = 8 and 2 * 4 * 1/4 + 2 = 4; the window of 2 on top
  const BudgetShape shape{.n_layers = 1, .n_kv_heads = 2, .slots = 8, .observed = 2, .n_prompt = 100};
  EXPECT_THAT(ImportanceAllocation(rows({Row{{1, 2, 1, 0}}}), 1.5, 2).budgets(shape), ElementsAre(10, 6));
  EXPECT_THAT(ImportanceAllocation(entries({{"0-0", 3}, {"0-1", 1}}), 1.5, 1).budgets(shape), ElementsAre(10, 6));
}

TEST(HeadTables, NoHeadGetsMoreThanTheTextHas) {
  const BudgetShape shape{.n_layers = 1, .n_kv_heads = 2, .slots = 8, .observed = 2, .n_prompt = 11};
  EXPECT_THAT(ImportanceAllocation(rows({Row{{1, 0}}}), 1, 1).budgets(shape), ElementsAre(11, 5));
}

TEST(HeadTables, WrongNumbersAreRefusedInOneLine) {
  const double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
  const auto neither = std::make_shared<const HeadTable>(HeadTable{.path = "f.json"});
  for (const auto& table : {neither, rows({}), rows({Row{{1}}}), rows({Row{{1, 2, 3}}}), rows({Row{{1, nan}}}), rows({std::nullopt}),
                            rows({Row{{1, 2}}, Row{{1, 2}}}), entries({}), entries({{"0-0", 1}}), entries({{"0-0", 1}, {"0-1", nan}}),
                            entries({{"0-0", 1}, {"0-1", 2}, {"0-2", 3}}), entries({{"0-0", 1}, {"0-1", 2}, {"note", nan}}),
                            rows({Row{{1, inf}}}), rows({Row{{-1, 2}}}), rows({Row{{0, 0}}})}) {
    const std::string sentence = table_refusal(table);
    EXPECT_THAT(sentence, HasSubstr("scores: 'f.json': expected"));
    EXPECT_EQ(sentence.find('\n'), std::string::npos);
  }
  EXPECT_EQ(table_refusal(rows({Row{{1, 2}}})), "");
}

TEST(HeadTables, TheLowestScoredHeadsStreamAndTheOthersKeepEverything) {
  const BudgetShape shape{.n_layers = 2, .n_kv_heads = 2, .slots = 20, .n_prompt = 10};
  const auto split = [&](const std::vector<Row>& numbers, double sparsity) {
    return StreamingHeadsAllocation(rows(numbers), sparsity, 2, 5).budgets(shape);
  };
  EXPECT_THAT(split({Row{{0.1, 0.9}}, Row{{0.8, 0.2}}}, .5), ElementsAre(7, std::nullopt, std::nullopt, 7));
  EXPECT_THAT(split({Row{{1, 1}}, Row{{1, 1}}}, .5), ElementsAre(7, 7, std::nullopt, std::nullopt)) << "ties: the lower index";
  EXPECT_THAT(split({Row{{1, 2}}, Row{{3, 4}}}, .1), Each(std::nullopt)) << "0.4 of a head rounds to none";
  EXPECT_THAT(split({Row{{1, 2}}, Row{{3, 4}}}, 1), Each(7));
}

TEST(HeadTables, ScoresOfTheWholePromptTakeTheFilesPlace) {
  const StreamingHeadsAllocation allocation(nullptr, .5, 2, 5);
  StatNeeds needs;
  allocation.require(needs);
  EXPECT_EQ(needs.outside, (StatNeeds::Outside{2, 5}));
  EXPECT_TRUE(allocation.needs_prompt());
  SlotState near_sighted, far_sighted;
  near_sighted.outside = .1;
  far_sighted.outside = .6;
  const std::vector<HeadView> heads = {{&far_sighted}, {&near_sighted}};
  EXPECT_THAT(allocation.after_prompt({.n_layers = 1, .n_kv_heads = 2}, heads), ElementsAre(std::nullopt, 7));
}

/// One layer of three heads, which give up share/100 times these.
std::shared_ptr<const BudgetCurves> curves_of(const std::vector<double>& factors) {
  BudgetCurves out{.path = "c", .n_layers = 1, .n_kv_heads = static_cast<int>(factors.size()), .numbers = {}};
  for (int share = 1; share <= BudgetCurves::kShares; ++share)
    for (const double factor : factors) out.numbers.push_back(share / 100.0 * factor);
  return std::make_shared<const BudgetCurves>(out);
}

std::vector<std::optional<int>> by_curves(const std::vector<double>& factors, double ratio, int slots, int n) {
  const ModelConfig model{.n_layers = 1, .n_kv_heads = static_cast<int>(factors.size())};
  return CurveAllocation(curves_of(factors), model, ratio)
      .budgets({.n_layers = 1, .n_kv_heads = model.n_kv_heads, .slots = slots, .n_prompt = n});
}

TEST(CurveAllocation, EveryHeadKeepsWhatTheCurveLeavesIt) {
  EXPECT_THAT(by_curves({1, 0.5, 2}, -1, 50, 100), ElementsAre(50, 75, 1)) << "each at least one";
  EXPECT_THAT(by_curves({1, 0.5, 0}, 0.6, 60, 100), ElementsAre(60, 80, 100));
}

TEST(CurveAllocation, WhatIsOverWholeSlotsGoesToTheLargestRests) {
  // of 10: 5.5, 5.3, 5.2 together 16: one more than the whole ones, to the first
  EXPECT_THAT(by_curves({0.9, 0.94, 0.96}, 0.5, 5, 10), ElementsAre(6, 5, 5));
}

TEST(CurveAllocation, TheShareIsTheNearestPerCentThatTheFileHas) {
  EXPECT_THAT(by_curves({1}, 0.504, 504, 1000), ElementsAre(500));
  EXPECT_THAT(by_curves({1}, -1, 497, 1000), ElementsAre(500)) << "by slots";
  EXPECT_THAT(by_curves({1}, 0.9999, 999, 1000), ElementsAre(990));
  EXPECT_THAT(by_curves({1}, 0.001, 1, 1000), ElementsAre(10));
  EXPECT_THAT(by_curves({1}, 0, 6, 1000), ElementsAre(10));
}

}  // namespace
}  // namespace kvscope
