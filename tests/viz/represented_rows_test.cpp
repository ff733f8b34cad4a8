// SPDX-License-Identifier: Apache-2.0
#include "viz/reduce/rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "snapshot/synthetic.h"
#include "viz/reduce/difference.h"
#include "viz/synthetic.h"

namespace kvscope::viz {
namespace {

using Rows = std::vector<RepresentedRows::Row>;

// Every number, from the counts of single heads.
void expect_brute_force(const RepresentedRows& counted, const Represented& shown, const Rows& rows, const RepresentedRows::Bins& bins,
                        bool spread) {
  ASSERT_EQ(counted.sums().size(), rows.size() * static_cast<std::size_t>(bins.count));
  ASSERT_EQ(counted.lows().size(), spread ? counted.sums().size() : 0);
  std::size_t i = 0;
  for (const auto& row : rows) {
    for (int b = bins.first; b < bins.first + bins.count; ++b, ++i) {
      std::uint32_t sum = 0, low = ~0u, high = 0;
      for (int h = row.first_head; h < row.first_head + row.n_heads; ++h) {
        const auto n = static_cast<std::uint32_t>(shown.count(h, b * bins.bin, (b + 1) * bins.bin - 1));
        sum += n;
        low = std::min(low, n);
        high = std::max(high, n);
      }
      ASSERT_EQ(counted.sums()[i], sum) << "step " << shown.step() << " bin " << b << " of heads from " << row.first_head;
      if (!spread) continue;
      ASSERT_EQ(counted.lows()[i], low);
      ASSERT_EQ(counted.highs()[i], high);
    }
  }
}

TEST(RepresentedRows, FollowsStepsAsIfCountedAnew) {
  const Snapshot snapshot = synthetic::make_huge_snapshot(3, 4, 3000, 40);
  const LaneSnapshot& lane = snapshot.lanes[1];
  const Rows layers = {{0, 4}, {4, 4}, {8, 4}}, heads = {{5, 1}, {2, 1}};
  for (const RepresentedRows::Bins& bins : {RepresentedRows::Bins{64, 0, 48}, {16, 100, 30}, {2, 1400, 120}, {4096, 0, 1}}) {
    for (const Rows& rows : {layers, heads}) {
      Represented shown;
      RepresentedRows with, without;
      for (const int step : {3, 4, 5, 5, 4, 9, 0, 40, 39, 38, 21}) {
        shown.show(lane, step);
        with.count(shown, rows, bins, true);
        without.count(shown, rows, bins);
        expect_brute_force(with, shown, rows, bins, true);
        expect_brute_force(without, shown, rows, bins, false);
      }
    }
  }
}

TEST(RepresentedRows, CountsAnewWhatItDidNotSeeChange) {
  const Snapshot snapshot = synthetic::make_huge_snapshot(2, 4, 2000, 12, 3);
  const Rows rows = {{0, 4}, {4, 4}};
  const RepresentedRows::Bins bins{32, 0, 64}, other{32, 1, 40};
  Represented shown;
  RepresentedRows counted;
  shown.show(snapshot.lanes[1], 2);
  counted.count(shown, rows, bins);
  shown.show(snapshot.lanes[1], 3);  // not asked for
  shown.show(snapshot.lanes[1], 4);
  counted.count(shown, rows, bins);
  expect_brute_force(counted, shown, rows, bins, false);
  shown.show(snapshot.lanes[2], 4);  // another run
  counted.count(shown, rows, bins);
  expect_brute_force(counted, shown, rows, bins, false);
  shown.show(snapshot.lanes[2], 5);
  counted.count(shown, rows, other);  // another window
  expect_brute_force(counted, shown, rows, other, false);
  counted.count(shown, rows, other, true);
  expect_brute_force(counted, shown, rows, other, true);
}

TEST(Represented, ListsWhatAStepChanges) {
  const Snapshot snapshot = synthetic::make_huge_snapshot(2, 4, 2000, 12);
  Represented shown;
  shown.show(snapshot.lanes[1], 4);
  EXPECT_EQ(shown.changed_from(), 0u) << "counted anew";
  EXPECT_TRUE(shown.changes().empty());
  for (const int step : {5, 9, 2}) {
    const std::uint64_t before = shown.version();
    std::vector<std::vector<int>> bits(8);
    const int n = static_cast<int>(snapshot.tokens.size());
    const auto read = [&](int h) {
      std::vector<int> out;
      for (int t = 0; t < n; ++t) out.push_back(t < shown.n_tokens() && shown.at(h, t) ? 1 : 0);
      return out;
    };
    for (int h = 0; h < 8; ++h) bits[static_cast<std::size_t>(h)] = read(h);
    shown.show(snapshot.lanes[1], step);
    EXPECT_EQ(shown.changed_from(), before);
    EXPECT_FALSE(shown.changes().empty());
    for (const Represented::Change& change : shown.changes()) {
      for (int k = 0; k < 64; ++k) {
        if ((change.bits >> k & 1) != 0)
          bits[static_cast<std::size_t>(change.head)][static_cast<std::size_t>(change.first + k)] += change.by;
      }
    }
    for (int h = 0; h < 8; ++h) EXPECT_EQ(bits[static_cast<std::size_t>(h)], read(h)) << "head " << h;
  }
}

TEST(DifferenceCounts, FollowsBothLanes) {
  const Snapshot snapshot = synthetic::make_huge_snapshot(2, 4, 2000, 12, 4);
  std::vector<Represented> shown(4);
  DifferenceCounts counts;
  const auto show = [&](std::size_t lane, int step) {
    shown[lane].show(snapshot.lanes[lane], step);
    counts.follow(shown[lane]);
  };
  const auto expect_same = [&](std::size_t a, std::size_t b) {
    const LaneDifference cells(shown[a], shown[b]);
    EXPECT_EQ(counts.of(cells), DifferenceCounts().of(cells)) << shown[a].step() << " and " << shown[b].step();
  };
  for (const int step : {4, 5, 6, 3, 11, 0}) {
    for (std::size_t lane = 0; lane < 4; ++lane) show(lane, step);
    expect_same(1, 2);
  }
  show(1, 1);  // one of them alone, twice
  show(1, 2);
  expect_same(1, 2);
  shown[2].show(snapshot.lanes[2], 7);  // behind its back
  show(2, 8);
  expect_same(1, 2);
  expect_same(3, 2);  // another pair
  show(3, 5);
  expect_same(3, 2);
}

}  // namespace
}  // namespace kvscope::viz
