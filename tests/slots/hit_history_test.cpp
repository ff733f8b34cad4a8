// SPDX-License-Identifier: Apache-2.0
#include "slots/hit_history.h"
#include "core/slot_runs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace kvscope {
namespace {

using testing::ElementsAre;

HitHistory of_slots(int window, int n) {
  HitHistory hits(window);
  for (int i = 0; i < n; ++i) hits.append_slot();
  return hits;
}

TEST(HitHistory, CountsTheRowsThatReachTheThreshold) {
  HitHistory hits = of_slots(8, 4);
  for (int r = 0; r < 2; ++r) hits.push(std::vector{.4, .3, .2, .1}, 1.0 / 4);
  EXPECT_THAT(hits.counts(), ElementsAre(2, 2, 0, 0));
  hits.push(std::vector{.1, .3}, .3);
  EXPECT_THAT(hits.counts(), ElementsAre(2, 3, 0, 0)) << "equal is enough; slots beyond the row are not hit";
}

TEST(HitHistory, ForgetsRowsBeyondItsWindow) {
  HitHistory hits = of_slots(2, 1);
  for (const double a : {1., 1., 0.}) hits.push(std::vector{a}, .5);
  EXPECT_THAT(hits.counts(), ElementsAre(1));
  hits.push(std::vector{0.}, .5);
  EXPECT_THAT(hits.counts(), ElementsAre(0));
}

TEST(HitHistory, RowsPushedTogetherCountLikeRowsPushedOneByOne) {
  std::mt19937_64 random(5);
  constexpr int kSlots = 5;
  for (const int window : {1, 3, 63, 64, 65, 130}) {
    HitHistory together(window, kSlots), single(window, kSlots);
    for (const int n : {64, 1, 64, 17, 64, 30, 2, 63}) {
      std::vector<std::uint64_t> rows(kSlots);
      for (std::uint64_t& bits : rows) bits = random();
      together.push_rows(rows, n);
      for (int r = 0; r < n; ++r) {
        std::vector<double> row;
        for (const std::uint64_t bits : rows) row.push_back(static_cast<double>((bits >> r) & 1));
        single.push(row, 1);
      }
      ASSERT_THAT(together.counts(), testing::ElementsAreArray(single.counts())) << window << " " << n;
      const int narrow = (window + 1) / 2;
      ASSERT_THAT(together.narrowed(narrow).counts(), testing::ElementsAreArray(single.narrowed(narrow).counts()));
    }
    const std::vector<double> none(kSlots, 0.0);  // the same rows leave in the same order
    for (int r = 0; r < window; ++r) {
      together.push(none, 1);
      single.push(none, 1);
      ASSERT_THAT(together.counts(), testing::ElementsAreArray(single.counts()));
    }
  }
}

TEST(HitHistory, CountsLikeAMatrixOfRowsAcrossRemovalsAndNewSlots) {
  std::mt19937 random(3);
  std::uniform_real_distribution<double> share(0, 1);
  for (const int window : {1, 3, 63, 64, 65, 130}) {
    HitHistory hits(window);
    std::vector<std::vector<int>> rows_of_slot;  // 1 where a row hit
    for (int step = 0; step < 300; ++step) {
      hits.append_slot();
      rows_of_slot.emplace_back(step, 0);
      std::vector<double> row;
      for (auto& rows : rows_of_slot) {
        row.push_back(share(random));
        rows.push_back(row.back() >= .6);
      }
      hits.push(row, .6);
      if (rows_of_slot.size() > 9) {
        std::vector<int> gone;
        std::vector<std::vector<int>> left;
        for (int i = 0; i < static_cast<int>(rows_of_slot.size()); ++i)
          if (share(random) < .7)
            left.push_back(rows_of_slot[static_cast<std::size_t>(i)]);
          else
            gone.push_back(i);
        hits.keep(runs_without(gone, static_cast<int>(rows_of_slot.size())), static_cast<int>(left.size()));
        rows_of_slot = left;
      }
      const auto last = [&](const std::vector<int>& rows, int w) {
        int count = 0;
        for (int r = std::max(0, static_cast<int>(rows.size()) - w); r < static_cast<int>(rows.size()); ++r)
          count += rows[static_cast<std::size_t>(r)];
        return count;
      };
      const HitHistory narrow = hits.narrowed((window + 1) / 2);
      for (std::size_t i = 0; i < rows_of_slot.size(); ++i) {
        ASSERT_EQ(hits.counts()[i], last(rows_of_slot[i], window)) << "window " << window << ", step " << step;
        ASSERT_EQ(narrow.counts()[i], last(rows_of_slot[i], (window + 1) / 2));
      }
    }
  }
}

TEST(HitHistory, ANarrowedOneGoesOnLikeTheRest) {
  HitHistory wide = of_slots(5, 1), narrow = of_slots(2, 1);
  for (const double a : {1., 0., 1.}) {
    wide.push(std::vector{a}, .5);
    narrow.push(std::vector{a}, .5);
  }
  HitHistory cut = wide.narrowed(2);
  for (const double a : {0., 0., 1.}) {
    cut.push(std::vector{a}, .5);
    narrow.push(std::vector{a}, .5);
    EXPECT_EQ(cut.counts()[0], narrow.counts()[0]);
  }
}

}  // namespace
}  // namespace kvscope
