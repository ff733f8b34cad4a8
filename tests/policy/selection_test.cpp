// SPDX-License-Identifier: Apache-2.0
#include "policy/selections/selection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "policy/tiny_lane.h"

namespace kvscope {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN(), kInf = std::numeric_limits<double>::infinity();

struct Chosen {
  std::vector<int> keep, gone;
};

Chosen choose(std::vector<double> score, int budget, Protection protection, RemovalOrder order = RemovalOrder::by_pos,
              std::vector<double> tie = {}) {
  const SlotState slots = test::slots_of(static_cast<int>(score.size()));
  HeadDecision head;
  head.view = {&slots, nullptr, 0, 0};
  head.budget = budget;
  head.is_protected = protected_mask(slots, protection);
  head.score = std::move(score);
  head.tie_break = std::move(tie);
  TopSelection(order).select(head, 0);
  return {head.keep, head.gone};
}

TEST(Selection, OfEqualScoresTheLowerPositionStays) { EXPECT_THAT(choose({1, 3, 3, 0}, 2, {0, 1}).keep, ElementsAre(1, 3)); }

TEST(Selection, NanRanksLast) {
  EXPECT_THAT(choose({kNan, 1, -5, 2}, 3, {}).gone, ElementsAre(0));
  EXPECT_THAT(choose({kNan, 1, kNan, 2}, 3, {}).gone, ElementsAre(2)) << "of two NaN the younger goes";
  EXPECT_THAT(choose({kNan, kNan, kNan}, 1, {}).keep, ElementsAre(0));
}

TEST(Selection, ATieBreakDecidesBeforePosition) {
  EXPECT_THAT(choose({2, 2, 0, 0}, 3, {}, RemovalOrder::by_pos, {0, 0, 1, 2}).gone, ElementsAre(2));
}

TEST(Selection, SinksAndRecentStayWhateverTheirScore) {
  EXPECT_THAT(choose({0, 5, 4, 3, 0}, 3, {1, 1}).keep, ElementsAre(0, 1, 4));
  EXPECT_THAT(choose({0, 5, 4, 3, 0}, 1, {1, 1}).keep, ElementsAre(0, 4)) << "protected slots stay even over the budget";
  EXPECT_THAT(choose({0, 1, 2}, 1, {2, 2}).gone, IsEmpty());
}

TEST(Selection, PositionsOfStreamingAreTheFirstTwoAndTheLastThree) {
  EXPECT_THAT(choose({0, 1, 2, 3, 4, 5, 6, 7}, 5, {2, 0}).keep, ElementsAre(0, 1, 5, 6, 7));
}

TEST(Selection, RemovalsAreToldByPositionOrLowestFirst) {
  EXPECT_THAT(choose({3, 1, 2, 9}, 1, {}).gone, ElementsAre(0, 1, 2));
  EXPECT_THAT(choose({3, 1, 2, 9}, 1, {}, RemovalOrder::lowest_first).gone, ElementsAre(1, 2, 0));
}

TEST(Selection, HeavyHittersOfThreeRowsAreTheFirstAndTheNewest) { EXPECT_THAT(choose({1.8, .7, .5}, 2, {0, 1}).keep, ElementsAre(0, 2)); }

/// Scores with ties, NaN and infinities among them.
std::vector<double> mixed_scores(std::mt19937& random, std::size_t n) {
  const double odd[] = {kNan, kInf, -kInf, 0, 0.25, 0.25};
  std::vector<double> out(n);
  for (double& x : out) x = random() % 3 == 0 ? odd[random() % 6] : std::uniform_real_distribution<double>(0, 1)(random);
  return out;
}

/// Slots that are not protected, the best first, as section 2 of POLICIES.md orders them.
std::vector<int> in_order(const std::vector<double>& score, const std::vector<char>& is_protected) {
  std::vector<int> order;
  for (int i = 0; i < static_cast<int>(score.size()); ++i)
    if (!is_protected[static_cast<std::size_t>(i)]) order.push_back(i);
  const auto value = [&](int i) {
    const double x = score[static_cast<std::size_t>(i)];
    return std::isnan(x) ? -kInf : x;
  };
  std::ranges::stable_sort(order, [&](int a, int b) { return value(a) > value(b); });
  return order;
}

TEST(Selection, WhatStaysIsTheBestOfASort) {
  std::mt19937 random(3);
  for (int round = 0; round < 2000; ++round) {
    const std::size_t n = 1 + random() % 40;
    const SlotState slots = test::slots_of(static_cast<int>(n));
    HeadDecision head;
    head.view = {&slots, nullptr, 0, 0};
    head.score = mixed_scores(random, n);
    for (std::size_t i = 0; i < n; ++i) head.is_protected.push_back(random() % 4 == 0);
    const std::vector<int> order = in_order(head.score, head.is_protected);
    const auto wanted = std::min<std::size_t>(random() % 2 == 0 ? 1 : random() % n, order.size());
    head.budget = static_cast<int>(n - wanted);
    TopSelection(RemovalOrder::by_pos).select(head, 0);
    std::vector<int> gone(order.end() - static_cast<std::ptrdiff_t>(wanted), order.end());
    std::ranges::sort(gone);
    ASSERT_EQ(head.gone, gone) << testing::PrintToString(head.score) << testing::PrintToString(head.is_protected);
    ASSERT_EQ(head.keep.size() + head.gone.size(), n);
  }
}

TEST(Selection, BothStagesTakeTheBestOfASort) {
  std::mt19937 random(4);
  for (int round = 0; round < 2000; ++round) {
    const std::size_t n = 1 + random() % 40;
    const SlotState slots = test::slots_of(static_cast<int>(n));
    std::vector<double> nu(n);
    for (double& x : nu) x = static_cast<double>(random() % 5) * 0.5;
    const test::GivenNorms norms(nu);
    HeadDecision head;
    head.view = {&slots, &norms, 0, 0};
    head.score = mixed_scores(random, n);
    head.plan.score = head.score;
    for (std::size_t i = 0; i < n; ++i) head.is_protected.push_back(random() % 4 == 0);
    std::vector<double> score = head.score;
    std::vector<char> taken = head.is_protected;
    std::vector<int> order = in_order(score, taken);
    const auto stays = static_cast<int>(random() % (order.size() + 1));
    const int first = static_cast<int>(std::floor(0.5 * stays));
    for (int i = 0; i < first; ++i) taken[static_cast<std::size_t>(order[static_cast<std::size_t>(i)])] = 1;
    for (std::size_t i = 0; i < n; ++i) score[i] = (score[i] + 1e-4) * nu[i];
    order = in_order(score, taken);
    std::vector<int> gone(order.begin() + (stays - first), order.end());
    std::ranges::sort(gone);
    head.budget = stays + static_cast<int>(std::ranges::count(head.is_protected, 1));
    TwoStageSelection(0.5, 1e-4).select(head, 0);
    ASSERT_EQ(head.gone, gone) << testing::PrintToString(head.score) << testing::PrintToString(head.is_protected);
  }
}

TEST(Selection, SinksAreNamedByPositionNotByPlace) {
  SlotState slots = test::slots_of(6);
  remove_slots(slots, std::vector{0, 2});
  EXPECT_THAT(protected_mask(slots, {2, 1}), ElementsAre(1, 0, 0, 1)) << "pos 0 is gone, so of the two sinks only pos 1 is left";
}

}  // namespace
}  // namespace kvscope
