// SPDX-License-Identifier: Apache-2.0
#include "policy/rankings/ranking.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "policy/apply_plan.h"
#include "policy/selections/selection.h"

namespace kvscope {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::Pointwise;

/// One token per row: row t scores tokens 0..t.
SlotState observed(const std::vector<std::vector<double>>& rows, const Ranking& ranking) {
  StatNeeds needs;
  ranking.require(needs);
  SlotState slots;
  for (std::size_t t = 0; t < rows.size(); ++t) {
    append_slot(slots, needs, 1, static_cast<int>(t));
    observe_step(slots, needs, 1, rows[t], {});
  }
  return slots;
}

HeadView view_of(const SlotState& slots) { return {&slots, nullptr, 0, 0}; }

TEST(Ranking, SumAddsUpWhatEveryQueryGave) {
  const ColumnRanking<statistics::Sum> ranking;
  const SlotState slots = observed({{1}, {.6, .4}, {.2, .3, .5}}, ranking);
  EXPECT_THAT(ranking.score(view_of(slots)), Pointwise(DoubleNear(1e-15), {1.8, 0.7, 0.5}));
}

TEST(Ranking, MeanDividesByTheTimesScored) {
  const MeanRanking ranking;
  const SlotState slots = observed({{1}, {.6, .4}, {.2, .3, .5}}, ranking);
  EXPECT_THAT(ranking.score(view_of(slots)), Pointwise(DoubleNear(1e-15), {1.8 / 3, 0.7 / 2, 0.5}));
}

TEST(Ranking, WeightedRowsCountNewerOnesMoreAndDoNotPunishYoungSlots) {
  const WeightedRowsRanking ranking(3);
  const SlotState slots = observed({{1}, {.6, .4}, {.2, .3, .5}}, ranking);
  EXPECT_THAT(ranking.score(view_of(slots)),
              Pointwise(DoubleNear(1e-15), {(1 + 1.1 * .6 + 1.2 * .2) / 3, (1.1 * .4 + 1.2 * .3) / 2, 1.2 * .5 / 1}));
}

TEST(Ranking, WeightedRowsForgetsRowsBeyondItsWindow) {
  const WeightedRowsRanking ranking(2);
  const SlotState slots = observed({{1}, {.6, .4}, {.2, .3, .5}}, ranking);
  EXPECT_THAT(ranking.score(view_of(slots)), Pointwise(DoubleNear(1e-15), {(.6 + 1.2 * .2) / 2, (.4 + 1.2 * .3) / 2, 1.2 * .5}));
}

TEST(Ranking, OneRowHasWeightOne) {
  const WeightedRowsRanking ranking(1);
  const SlotState slots = observed({{1}, {.6, .4}}, ranking);
  EXPECT_THAT(ranking.score(view_of(slots)), ElementsAre(.6, .4));
}

TEST(Ranking, ManyRowsGiveTheSameSumAsOneByOne) {
  const WeightedRowsRanking ranking(7);  // one block of four and three more
  std::vector<std::vector<double>> rows;
  for (int t = 0; t < 9; ++t) rows.push_back(std::vector<double>(static_cast<std::size_t>(t) + 1, 1.0 / (t + 1)));
  const SlotState slots = observed(rows, ranking);
  double want = 0;
  for (int r = 0; r < 7; ++r) want += (1.0 + 0.2 * r / 6) / (r + 3);
  EXPECT_NEAR(ranking.score(view_of(slots))[0], want / 7, 1e-15);
}

TEST(Ranking, MaxPoolingIgnoresTheBorderAndAveragePoolingDividesByWhatIsThere) {
  const std::vector<double> x = {10, 1, 1, 1, 1, 1, 1, 1};
  EXPECT_THAT(pool_1d(x, 5, Pool::max), ElementsAre(10, 10, 10, 1, 1, 1, 1, 1));
  EXPECT_THAT(pool_1d(x, 5, Pool::avg), Pointwise(DoubleNear(1e-15), {4.0, 13 / 4.0, 14 / 5.0, 1.0, 1.0, 1.0, 1.0, 1.0}));
  EXPECT_THAT(pool_1d(x, 5, Pool::padded), Pointwise(DoubleNear(1e-15), {12 / 5.0, 13 / 5.0, 14 / 5.0, 1.0, 1.0, 1.0, 4 / 5.0, 3 / 5.0}));
  EXPECT_THAT(pool_1d(x, 1, Pool::avg), ElementsAre(10, 1, 1, 1, 1, 1, 1, 1)) << "kernel 1 changes nothing";
  EXPECT_THAT(pool_1d(std::vector{1.0, 2.0}, 4095, Pool::max), ElementsAre(2, 2)) << "a kernel wider than the row";
}

TEST(Ranking, PooledWindowLeavesTheObservationWindowUnranked) {
  const PooledWindowRanking ranking(1, 1, Pool::max);
  const SlotState slots = observed({{1}, {.6, .4}, {.2, .3, .5}}, ranking);
  const std::vector<double> score = ranking.score(view_of(slots));
  EXPECT_DOUBLE_EQ(score[0], .2);
  EXPECT_DOUBLE_EQ(score[1], .3);
  EXPECT_TRUE(std::isnan(score[2]));
}

}  // namespace
}  // namespace kvscope
