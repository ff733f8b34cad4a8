// SPDX-License-Identifier: Apache-2.0
#include "snapshot/synthetic.h"

#include <gtest/gtest.h>

#include "snapshot/held_bytes.h"

namespace kvscope {
namespace {

TEST(Synthetic, FatesAndSlotsAgreeInEveryStep) {
  const Snapshot s = synthetic::make_huge_snapshot(2, 3, 3000, 6);
  ASSERT_EQ(s.lanes.size(), 2u);
  EXPECT_NE(s.device.find("no model"), std::string::npos) << "it says what it is";
  const LaneSnapshot& lane = s.lanes[1];
  for (const StepPtr& step : lane.steps) {
    for (int h = 0; h < 6; ++h) {
      const HeadRecord& head = step->heads[static_cast<std::size_t>(h)];
      const HeadFates& fates = lane.fates->heads[static_cast<std::size_t>(h)];
      std::vector<int> own;
      int votes = head.evicted_votes;
      for (int v : head.votes) votes += v;
      for (int t = 0; t <= step->position; ++t) {
        if (fates.left(t) > step->step) own.push_back(t);
      }
      ASSERT_EQ(own, head.pos) << "step " << step->step << " head " << h;
      ASSERT_EQ(votes, step->position + 1) << "step " << step->step << " head " << h;
    }
  }
}

TEST(Synthetic, SaysWhatItHoldsAndWhatComesNext) {
  const Snapshot s = synthetic::make_huge_snapshot(2, 3, 3000, 6);
  const LaneSnapshot& lane = s.lanes[1];
  EXPECT_NEAR(lane.slots_asked, lane.slots, 0.5);
  EXPECT_DOUBLE_EQ(lane.bytes, lane.slots * 6 * 2 * s.model.head_dim * 2);
  EXPECT_EQ(s.lanes[0].slots_asked, -1);
  for (std::size_t i = 0; i + 1 < lane.steps.size(); ++i) {
    const int next = s.tokens[static_cast<std::size_t>(lane.steps[i]->position) + 1].id;
    EXPECT_EQ(lane.steps[i]->top1, next) << i;
    EXPECT_EQ(lane.steps[i]->next_token, next) << i;
  }
  EXPECT_EQ(lane.steps.back()->next_token, -1);
}

TEST(Synthetic, IsTheSameHoweverManyThreadsMadeIt) {
  const LaneSnapshot a = synthetic::make_huge_lane(1, 3, 5, 700, 2), b = synthetic::make_huge_lane(1, 3, 5, 700, 2);
  for (std::size_t h = 0; h < 15; ++h) EXPECT_EQ(a.steps[2]->heads[h].pos, b.steps[2]->heads[h].pos);
}

TEST(Synthetic, ARunThatKeepsEverythingHoldsNoFatesOfItsOwn) {
  const Snapshot one = synthetic::make_huge_snapshot(4, 4, 8192, 0, 1), two = synthetic::make_huge_snapshot(4, 4, 8192, 0, 2);
  EXPECT_LT(held_bytes(one), 4e6) << "8192 tokens in words, and one chunk for all heads";
  EXPECT_GT(held_bytes(two) - held_bytes(one), 16.0 * 8192 * 16) << "16 bytes a head and token";
}

}  // namespace
}  // namespace kvscope
