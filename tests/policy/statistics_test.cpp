// SPDX-License-Identifier: Apache-2.0
#include "core/slot_runs.h"
#include "policy/apply_plan.h"
#include "slots/log_scores.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "policy/near.h"
#include "policy/tiny_lane.h"

namespace kvscope {
namespace {

using test::at;
using testing::DoubleNear;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pointwise;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

StatNeeds everything() {
  return {.sum = true, .sum_sq = true, .rows = 2, .z_rows = 2, .keep_z_rows = true, .ema = true, .ema_alpha = 0.5, .z_now = true};
}

std::vector<double> to_vector(std::span<const double> x) { return {x.begin(), x.end()}; }

TEST(Statistics, WhatNobodyAskedForIsNotKept) {
  SlotState s;
  append_slot(s, StatNeeds{}, 2, 0);
  observe_step(s, StatNeeds{}, 2, {}, {});
  EXPECT_EQ(s.size(), 1);
  EXPECT_THAT(s.sum, IsEmpty());
  EXPECT_THAT(s.times, IsEmpty());
  EXPECT_THAT(s.ema, IsEmpty());
  EXPECT_EQ(s.rows.rows(), 0);
}

TEST(Statistics, AFreshSlotStandsForItselfAndWasNeverScored) {
  SlotState s;
  append_slot(s, everything(), 2, 7);
  EXPECT_THAT(s.members(0), ElementsAre(7));
  EXPECT_EQ(s.votes[0], 1);
  EXPECT_EQ(s.times[0], 0);
  EXPECT_THAT(s.ema, ElementsAre(-kInfinity, -kInfinity));
}

TEST(Statistics, QueryHeadsOfAGroupBecomeOneRow) {
  const std::vector<double> a = {.1, .9, .5, .5};  // [group 2, n 2]
  for (const auto& [how, want] :
       {std::pair{GroupReduce::mean, std::vector{.3, .7}}, {GroupReduce::max, {.5, .9}}, {GroupReduce::sum, {.6, 1.4}}}) {
    const StatNeeds needs{.group = how, .sum = true};
    SlotState s;
    append_slot(s, needs, 2, 0);
    append_slot(s, needs, 2, 1);
    observe_step(s, needs, 2, a, {});
    EXPECT_THAT(s.sum, Pointwise(DoubleNear(1e-15), want));
  }
}

TEST(Statistics, TheEmaIsTheWeightedMeanOfExpInTheLogDomain) {
  const StatNeeds needs = everything();
  SlotState s;
  append_slot(s, needs, 1, 0);
  const double z[] = {1.0, -2.0, 3.0};
  for (const double x : z) observe_step(s, needs, 1, std::vector{1.0}, std::vector{x});
  const double S = .5 * (.25 * std::exp(1.0) + .5 * std::exp(-2.0) + std::exp(3.0));
  EXPECT_NEAR(s.ema[0], std::log(S), 1e-14);
  EXPECT_EQ(s.ema_n[0], 3);
  EXPECT_NEAR(log_scores(s, Predict::ema, 1, .5)[0], std::log(S / (1 - std::pow(.5, 3))), 1e-14) << "start-up bias removed";
  EXPECT_NEAR(log_scores(s, Predict::current, 1, .5)[0], 3.0, 0);
  EXPECT_NEAR(log_scores(s, Predict::window, 1, .5)[0], std::log((std::exp(-2.0) + std::exp(3.0)) / 2), 1e-14) << "the last two rows";
}

TEST(Statistics, LogScoresSurviveHugeLogits) {
  const StatNeeds needs = everything();
  SlotState s;
  append_slot(s, needs, 1, 0);
  for (const double x : {900.0, -900.0, 905.0}) observe_step(s, needs, 1, std::vector{1.0}, std::vector{x});
  for (const Predict p : {Predict::ema, Predict::current, Predict::window}) {
    const double lshat = log_scores(s, p, 1, .5)[0];
    EXPECT_TRUE(std::isfinite(lshat) && lshat > 900 && lshat < 906) << lshat;
  }
}

TEST(Statistics, ExtraIsPartOfTheLogScore) {
  const StatNeeds needs = everything();
  SlotState s;
  append_slot(s, needs, 1, 0);
  s.extra[0] = -0.25;
  observe_step(s, needs, 1, std::vector{1.0}, std::vector{2.0});
  EXPECT_DOUBLE_EQ(s.z_now[0], 1.75);
}

TEST(Statistics, APromptLeavesWhatItsStepsWouldHaveLeft) {
  const StatNeeds needs = everything();
  constexpr int n = 5, group = 2;
  std::mt19937 random(3);
  std::normal_distribution<double> normal;
  SlotState stepped;
  std::vector<double> sum(n, 0.0), sum_sq(n, 0.0), rows, z_rows;
  for (int t = 0; t < n; ++t) {
    append_slot(stepped, needs, group, t);
    std::vector<double> a, z;
    for (int g = 0; g < group; ++g) {
      std::vector<double> zg;
      for (int i = 0; i <= t; ++i) zg.push_back(3 * normal(random));
      const std::vector<double> ag = test::softmax(zg);
      a.insert(a.end(), ag.begin(), ag.end());
      z.insert(z.end(), zg.begin(), zg.end());
    }
    observe_step(stepped, needs, group, a, z);
    for (int i = 0; i < n; ++i) {
      const auto x = static_cast<std::size_t>(i);
      const double abar = i <= t ? (a[x] + a[x + static_cast<std::size_t>(t) + 1]) / 2 : 0.0;
      sum[x] += abar;
      sum_sq[x] += abar * abar;
      if (t >= n - 2) rows.push_back(abar);
    }
    if (t >= n - 2)
      for (int g = 0; g < group; ++g)
        for (int i = 0; i < n; ++i) z_rows.push_back(i <= t ? z[static_cast<std::size_t>(g * (t + 1) + i)] : -kInfinity);
  }
  SlotState loaded;
  load_prompt(loaded, needs, group, {.n = n, .sums = {{{.power = 1}, sum}, {{.power = 2}, sum_sq}}, .last_rows = rows, .last_z = z_rows});
  EXPECT_EQ(loaded.pos, stepped.pos);
  EXPECT_EQ(loaded.times, stepped.times);
  EXPECT_THAT(loaded.sum, Pointwise(DoubleNear(1e-14), stepped.sum));
  EXPECT_THAT(loaded.sum_sq, Pointwise(DoubleNear(1e-14), stepped.sum_sq));
  EXPECT_EQ(loaded.z_now, stepped.z_now);
  for (int r = 0; r < 2; ++r) EXPECT_THAT(to_vector(loaded.rows.row(r)), Pointwise(DoubleNear(1e-14), to_vector(stepped.rows.row(r))));
  EXPECT_EQ(to_vector(loaded.z_rows.row(0)), to_vector(stepped.z_rows.row(0)));
  EXPECT_THAT(loaded.ema_n, ElementsAre(2, 2, 2, 2, 1)) << "the EMA starts from the last two rows only";
  const double newest = loaded.ema[8];  // slot 4 was seen by the last row alone
  EXPECT_NEAR(newest, std::log(.5) + loaded.z_now[8], 1e-14);
}

TEST(Statistics, SlotsThatGoTakeTheirStatisticsWithThem) {
  const StatNeeds needs = everything();
  SlotState s;
  for (int t = 0; t < 4; ++t) {
    append_slot(s, needs, 1, t);
    const std::vector<double> x(static_cast<std::size_t>(t) + 1, 1.0 / (t + 1));
    observe_step(s, needs, 1, x, x);
  }
  const SlotState before = s;
  remove_slots(s, std::vector{1});
  EXPECT_THAT(s.pos, ElementsAre(0, 2, 3));
  EXPECT_THAT(s.times, ElementsAre(4, 2, 1));
  EXPECT_THAT(s.sum, ElementsAre(before.sum[0], before.sum[2], before.sum[3]));
  EXPECT_THAT(s.ema, ElementsAre(before.ema[0], before.ema[2], before.ema[3]));
  EXPECT_THAT(to_vector(s.rows.row(1)), ElementsAre(.25, .25, .25));
  EXPECT_THAT(to_vector(s.z_rows.row(0)), ElementsAre(1 / 3.0, 1 / 3.0, -kInfinity));
  append_slot(s, needs, 1, 4);
  EXPECT_THAT(to_vector(s.rows.row(1)), ElementsAre(.25, .25, .25, 0.0)) << "a new slot was not there in older rows";
}

TEST(Statistics, TheRingForgetsTheOldestRowAndKeepsOrderAcrossRemovals) {
  RowRing ring(3, 2);
  for (int r = 0; r < 5; ++r) ring.push(std::vector<double>(4, r));
  EXPECT_EQ(ring.rows(), 3);
  EXPECT_THAT(to_vector(ring.row(0)), ElementsAre(2, 2, 2, 2));
  EXPECT_THAT(to_vector(ring.row(2)), ElementsAre(4, 4, 4, 4));
  ring.append_slot(9);
  ring.keep(runs_without(std::vector{1, 3, 4}, 5), 2);
  EXPECT_THAT(to_vector(ring.row(1)), ElementsAre(3, 3, 9, 9));
  ring.append_slot(7);  // where the slot was that went
  ring.keep(runs_without(std::vector{0}, 3), 2);
  EXPECT_THAT(to_vector(ring.row(1)), ElementsAre(9, 9, 7, 7));
  EXPECT_THAT(to_vector(ring.row(2)), ElementsAre(9, 9, 7, 7));
}

void follow_sums(int rows, RowSums keeps) {
  constexpr int most = 24;
  std::mt19937 random(7);
  const auto draw = [&] { return std::pow(10.0, -40.0 * static_cast<double>(random()) / static_cast<double>(random.max())); };
  RowRing ring(rows, 1, keeps);
  EXPECT_THAT(ring.sums(), IsEmpty());
  int n = 0;
  for (int step = 0; step < 4000; ++step) {
    ring.append_slot(0);
    if (++n > most) {
      std::vector<int> gone;
      const int one = static_cast<int>(random() % static_cast<unsigned>(n - 2)) + 2;
      for (int i = 2; i < n; ++i)
        if (i == one || (step % 50 == 0 && random() % 2 == 0)) gone.push_back(i);  // now and then half of them go
      const int kept = n - static_cast<int>(gone.size());
      ring.keep(runs_without(gone, n), kept);
      n = kept;
    }
    std::vector<double> row(at(n));
    for (double& x : row) x = random() % 4 == 0 ? 0 : draw();
    if (step % 20 >= 3 && n > 1) row[1] = row[0];  // the same for a while, after other numbers
    if (step % 300 == 17 && n > 2) row[2] = NAN;
    ring.push(row);
    const std::vector<double> sums = ring.sums(),
                              by_place = keeps == RowSums::by_place ? ring.sums_by_place() : std::vector<double>(sums.size());
    for (int i = 0; i < n; ++i) {
      long double sum = 0, of_places = 0;
      for (int r = 0; r < ring.rows(); ++r) sum += ring.number(r, i, 0);
      for (int r = 0; r < ring.rows(); ++r) of_places += static_cast<long double>(r) * ring.number(r, i, 0);
      ASSERT_EQ(std::isnan(sums[at(i)]), std::isnan(sum)) << step;
      if (!std::isnan(sum)) {
        ASSERT_NEAR(sums[at(i)], static_cast<double>(sum), 2.3e-16 * static_cast<double>(sum)) << step;
        if (keeps == RowSums::by_place) {
          ASSERT_NEAR(by_place[at(i)], static_cast<double>(of_places), 2.3e-16 * static_cast<double>(sum + of_places)) << step;
        }
      }
    }
    if (step % 20 >= 3 + rows) {
      ASSERT_EQ(sums[0], sums[1]) << "equal rows, equal sums: step " << step;
      ASSERT_EQ(sums[0] + 0.05 * by_place[0], sums[1] + 0.05 * by_place[1]) << step;
    }
  }
}

TEST(Statistics, TheSumsOfTheRingAreThoseOfItsRowsWhateverHasBeenBefore) {
  for (const int rows : {1, 5}) {
    for (const RowSums keeps : {RowSums::plain, RowSums::by_place}) {
      SCOPED_TRACE(testing::Message() << rows << " rows, " << (keeps == RowSums::plain ? "plain" : "by place"));
      ASSERT_NO_FATAL_FAILURE(follow_sums(rows, keeps));
    }
  }
}

TEST(Statistics, RowsLoadedAtOnceAreRowsPushedOneByOne) {
  constexpr int n_rows = 6, slots = 9, width = 2;
  std::mt19937 random(5);
  for (const int max_rows : {n_rows, n_rows + 3}) {
    for (const RowSums keeps : {RowSums::none, RowSums::plain, RowSums::by_place}) {
      std::vector<double> rows(n_rows * slots * width);
      for (double& x : rows) x = std::pow(10.0, -30.0 * static_cast<double>(random()) / static_cast<double>(random.max()));
      rows[3] = NAN;
      RowRing loaded(max_rows, width, keeps), pushed(max_rows, width, keeps);
      loaded.load(rows, n_rows);
      for (int r = 0; r < n_rows; ++r) pushed.push(std::span(rows).subspan(at(r * slots * width), at(slots * width)));
      const auto same = [](const std::vector<double>& a, const std::vector<double>& b) {
        return std::ranges::equal(a, b, [](double x, double y) { return x == y || (std::isnan(x) && std::isnan(y)); });
      };
      for (int more = 0; more < 8; ++more) {
        ASSERT_EQ(loaded.rows(), pushed.rows());
        for (int r = 0; r < pushed.rows(); ++r) EXPECT_TRUE(same(loaded.row(r), pushed.row(r))) << more;
        EXPECT_TRUE(keeps == RowSums::none || same(loaded.sums(), pushed.sums())) << more;
        EXPECT_TRUE(keeps != RowSums::by_place || same(loaded.sums_by_place(), pushed.sums_by_place())) << more;
        for (RowRing* ring : {&loaded, &pushed}) {
          if (more == 1) ring->keep(runs_without(std::vector{3}, slots), slots - 1);
          if (more == 1) ring->append_slot(0);
        }
        std::vector<double> row(slots * width, 0.5 / (more + 1));
        loaded.push(row);
        pushed.push(row);
      }
    }
  }
}

TEST(Statistics, TheRingClosesTheGapsOfSlotsThatWentTogether) {
  RowRing ring(2, 1);
  std::vector<double> row(100);
  for (int i = 0; i < 100; ++i) row[static_cast<std::size_t>(i)] = i;
  ring.push(row);
  ring.push(row);
  ring.keep(runs_without(slots_without(std::vector{3, 50, 51, 99}, 100), 100), 4);
  ring.for_memory([](std::span<const double> x) { EXPECT_EQ(x.size(), 4u) << "nothing of the others stays"; });
  ring.append_slot(-1);
  EXPECT_THAT(ring.row(0), ElementsAre(3, 50, 51, 99, -1));
  EXPECT_THAT(ring.row(1), ElementsAre(3, 50, 51, 99, -1));
}

TEST(Statistics, UnitedSlotsShareVotesAndMembersAndLostOnesAreCounted) {
  SlotState s = test::slots_of(4);
  unite(s, 2, 0);
  unite(s, 2, 3);
  EXPECT_THAT(s.members(2), ElementsAre(0, 2, 3));
  EXPECT_EQ(s.votes[2], 3);
  lose(s, 2);
  EXPECT_THAT(s.evicted, ElementsAre(0, 2, 3));
  EXPECT_EQ(s.evicted_votes, 3);
}

TEST(Statistics, ASetLogScoreIsWhatEveryPredictorThenSays) {
  const StatNeeds needs = everything();
  SlotState s;
  append_slot(s, needs, 2, 0);
  for (int t = 0; t < 3; ++t) observe_step(s, needs, 2, std::vector{1.0, 1.0}, std::vector{t * 1.0, -t * 2.0});
  const double spread = s.z_rows.row(1)[0] - s.z_rows.row(0)[0];
  set_log_score(s, needs, 0, std::vector{0.5, -0.75});
  for (const Predict p : {Predict::ema, Predict::current, Predict::window})
    EXPECT_THAT(log_scores(s, p, 2, needs.ema_alpha), Pointwise(DoubleNear(1e-14), {0.5, -0.75}));
  EXPECT_NEAR(s.z_rows.row(1)[0] - s.z_rows.row(0)[0], spread, 1e-14) << "stored rows are shifted, not flattened";
}

TEST(Statistics, TheBiasIsLnVotesPlusExtraOrNothing) {
  SlotState s = test::slots_of(3);
  EXPECT_THAT(bias_of(s, Bias::votes), IsEmpty()) << "one vote each: zero everywhere";
  unite(s, 1, 0);
  s.extra[1] = -0.5;
  EXPECT_THAT(bias_of(s, Bias::votes), ElementsAre(0, std::log(2.0) - 0.5, 0));
  EXPECT_THAT(bias_of(s, Bias::none), IsEmpty());
}

TEST(Statistics, APlanIsCarriedOutMergeByMerge) {
  SlotState s = test::slots_of(5);
  Plan plan;
  plan.removals = {{.slot = 0, .target = 1}, {.slot = 1, .target = 3}, {.slot = 4}};  // 1 hands on what it took from 0
  plan.merges = {{.target = 3, .members = {3, 1}, .extra = 0.125}};
  EXPECT_THAT(apply_plan(s, StatNeeds{}, plan), ElementsAre(0, 1, 4));
  EXPECT_THAT(s.pos, ElementsAre(2, 3));
  EXPECT_THAT(s.members(1), ElementsAre(0, 1, 3));
  EXPECT_THAT(s.votes, ElementsAre(1, 3));
  EXPECT_THAT(s.extra, ElementsAre(0, 0.125));
  EXPECT_THAT(s.evicted, ElementsAre(4));
}

}  // namespace
}  // namespace kvscope
