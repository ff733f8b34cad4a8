// SPDX-License-Identifier: Apache-2.0
#include "viz/reduce/represented.h"

#include <gtest/gtest.h>

#include <vector>

#include "snapshot/synthetic.h"
#include "viz/synthetic.h"

namespace kvscope::viz {
namespace {

// Everything that `shown` says, counted from the fates token by token.
void expect_brute_force(const Represented& shown, const LaneSnapshot& lane, int step) {
  const StepRecord& record = *lane.steps[static_cast<std::size_t>(step)];
  const int n = record.position + 1;
  ASSERT_EQ(shown.step(), step);
  ASSERT_EQ(shown.n_tokens(), n);
  ASSERT_EQ(shown.heads_per_token().size(), static_cast<std::size_t>(n));
  std::vector<int> heads(static_cast<std::size_t>(n), 0);
  for (int h = 0; h < shown.n_heads(); ++h) {
    std::vector<int> before(static_cast<std::size_t>(n) + 1, 0);  // represented tokens before each token
    for (int t = 0; t < n; ++t) {
      const bool on = slot_of(*lane.fates, record, h, t) >= 0;
      ASSERT_EQ(shown.at(h, t), on) << "head " << h << " token " << t << " step " << step;
      heads[static_cast<std::size_t>(t)] += on;
      before[static_cast<std::size_t>(t) + 1] = before[static_cast<std::size_t>(t)] + on;
    }
    const auto sum = [&](int first, int last) {
      first = std::clamp(first, 0, n);
      last = std::clamp(last, first - 1, n - 1);
      return before[static_cast<std::size_t>(last) + 1] - before[static_cast<std::size_t>(first)];
    };
    for (int first = -3; first < n + 5; first += 7 + n / 40) {
      for (int last : {first - 1, first, first + 5, first + 64, first + 333, n + 500}) {
        ASSERT_EQ(shown.count(h, first, last), sum(first, last)) << first << " to " << last;
      }
    }
    for (int bin = 1; bin <= 1 << 16; bin *= 2) {
      for (int first_bin : {0, 1, 3}) {
        std::vector<std::uint32_t> out(static_cast<std::size_t>(n / bin) + 3, 77);
        shown.bins(h, bin, first_bin, out);
        for (std::size_t i = 0; i < out.size(); ++i) {
          const int first = (first_bin + static_cast<int>(i)) * bin;
          ASSERT_EQ(static_cast<int>(out[i]), first < n ? sum(first, first + bin - 1) : 0) << "bin " << i << " of " << bin << " tokens";
        }
      }
    }
  }
  for (int t = 0; t < n; ++t) ASSERT_EQ(shown.heads_per_token()[static_cast<std::size_t>(t)], heads[static_cast<std::size_t>(t)]) << t;
}

TEST(Represented, EqualsABruteForceCountAtEveryLevel) {
  synthetic::Shape shape;
  shape.n_layers = 1;
  shape.prefill = false;
  const Snapshot snapshot = synthetic::make_snapshot(shape);
  for (int s : {0, 30, 100, 178}) {
    Represented shown;
    EXPECT_EQ(shown.show(snapshot.lanes[3], s), -1);
    expect_brute_force(shown, snapshot.lanes[3], s);
    if (HasFatalFailure()) return;
  }
}

TEST(Represented, MovingInTimeGivesTheSameAsCountingAnew) {
  for (const bool prefill : {false, true}) {
    synthetic::Shape shape;
    shape.n_layers = 2;
    shape.n_kv_heads = 2;
    shape.prefill = prefill;
    shape.n_generated = 40;
    const Snapshot snapshot = synthetic::make_snapshot(shape);
    for (const LaneSnapshot& lane : snapshot.lanes) {
      const int last = static_cast<int>(lane.steps.size()) - 1;
      Represented shown;
      shown.show(lane, last / 2);
      for (int s : {last / 2 + 1, last / 2 + 2, last / 2 - 3, last, last - 1, 0, last, 1, 1, last / 3}) {
        const int jump = std::abs(s - shown.step());
        const std::int64_t changed = shown.show(lane, s);
        EXPECT_EQ(changed == -1, jump > 64) << "counting anew is for long jumps";
        if (jump == 0) {
          EXPECT_EQ(changed, 0);
        }
        expect_brute_force(shown, lane, s);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(Represented, AStepTouchesOnlyWhatWasBornOrLostInIt) {
  const Snapshot snapshot = synthetic::make_huge_snapshot(2, 4, 5000, 12);
  const LaneSnapshot& lane = snapshot.lanes[1];
  Represented shown;
  shown.show(lane, 4);
  std::int64_t expected = 0;
  const int born = lane.steps[5]->position;
  for (int h = 0; h < 8; ++h) {
    const HeadFates& fates = lane.fates->heads[static_cast<std::size_t>(h)];
    for (int t = 0; t < born; ++t) expected += fates.lost(t) == 5;
    expected += fates.lost(born) > 5;
  }
  EXPECT_EQ(shown.show(lane, 5), expected);
  expect_brute_force(shown, lane, 5);
  EXPECT_EQ(shown.show(lane, 4), expected);
  expect_brute_force(shown, lane, 4);
  for (int s : {12, 0, 7}) {
    EXPECT_GE(shown.show(lane, s), 0);
    expect_brute_force(shown, lane, s);
  }
}

TEST(Represented, ARunThatGrowsIsTakenOverAndAnotherRunIsNot) {
  synthetic::Shape shape;
  shape.n_layers = shape.n_kv_heads = 1;
  shape.n_heads = 2;
  const Snapshot snapshot = synthetic::make_snapshot(shape);
  const LaneSnapshot& whole = snapshot.lanes[3];
  LaneSnapshot begun = whole;
  begun.steps.resize(4);
  begun.fates = std::make_shared<const LaneFates>(derive_fates(begun.steps, 1));
  Represented shown;
  EXPECT_EQ(shown.show(begun, 3), -1);
  expect_brute_force(shown, begun, 3);
  EXPECT_GE(shown.show(whole, 9), 0);
  expect_brute_force(shown, whole, 9);
  EXPECT_EQ(shown.show(snapshot.lanes[2], 9), -1);
  expect_brute_force(shown, snapshot.lanes[2], 9);
}

}  // namespace
}  // namespace kvscope::viz
