// SPDX-License-Identifier: Apache-2.0
#include "policy/text/lane_edits.h"
#include "policy/refusal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "policy/catalog.h"
#include "policy/hand_plan.h"
#include "tiny_lane.h"

namespace kvscope {
namespace {

using test::TinyHead;
using ::testing::ElementsAre;

TEST(LaneEdits, ATextBecomesEditsAndTheSameTextAgain) {
  const std::string spec =
      "h2o:slots=24@slots=40,layers=0-2,heads=1@evict=17,20-23,step=12,layers=2,heads=0,1@merge=4,into=7,step=3@pin=5,on=0";
  const LaneEdits edits = edits_of(spec);
  ASSERT_EQ(edits.budgets.size(), 1u);
  EXPECT_EQ(edits.budgets[0].slots, 40);
  EXPECT_EQ(edits.budgets[0].heads.layers, (std::vector<int>{0, 1, 2}));
  ASSERT_EQ(edits.what_ifs.size(), 3u);
  EXPECT_EQ(edits.what_ifs[0].kind, WhatIf::Kind::evict);
  EXPECT_EQ(edits.what_ifs[0].positions, (std::vector<int>{17, 20, 21, 22, 23}));
  EXPECT_EQ(edits.what_ifs[0].step, 12);
  EXPECT_TRUE(edits.what_ifs[0].heads.has(2, 1));
  EXPECT_FALSE(edits.what_ifs[0].heads.has(1, 1));
  EXPECT_EQ(edits.what_ifs[1].into, 7);
  EXPECT_TRUE(edits.what_ifs[1].heads.has(5, 3));  // everywhere
  EXPECT_EQ(edits.what_ifs[2].step, -1);
  EXPECT_FALSE(edits.what_ifs[2].on);
  EXPECT_EQ(with_edits(spec, edits), spec);
  EXPECT_EQ(policy_part(spec), "h2o:slots=24");
  EXPECT_EQ(active_what_ifs(edits).size(), 2u);
}

TEST(LaneEdits, KeysMayStandInAnyOrderAndBeSingular) {
  LaneEdits edits;
  parse_edit("step=12,layer=2,head=1,evict=23,17", edits, "test");
  EXPECT_EQ(text_of(edits), "@evict=17,23,step=12,layers=2,heads=1");
}

TEST(LaneEdits, EditsStayWithTheLaneWhenAKeyChanges) {
  EXPECT_EQ(with_param("h2o:slots=24@pin=3", "slots", "12"), "h2o:slots=12@pin=3");
  EXPECT_EQ(parse_lane_spec("full@evict=3,step=0").name, "full");
}

TEST(LaneEdits, AnAtSignInAFileNameIsNoEdit) {
  EXPECT_EQ(policy_part("headkv:slots=8,scores=me@home.json"), "headkv:slots=8,scores=me@home.json");
}

TEST(LaneEdits, WhatIsWrongIsSaid) {
  const auto says = [](const std::string& spec, const std::string& words) {
    EXPECT_NE(refusal(spec).find(words), std::string::npos) << spec << ": " << refusal(spec);
  };
  says("h2o:slots=4@evct=3,step=1", "unknown key 'evct'");
  says("h2o:slots=4@evict=3", "step=N");
  says("h2o:slots=4@evict=3-1,step=1", "got '3-1'");
  says("h2o:slots=4@evict=-1,step=1", "got '-1'");
  says("h2o:slots=4@evict=,step=1", "expected numbers");
  says("h2o:slots=4@evict=0-99999999,step=1", "expected at most 1000000 numbers in all");
  says("h2o:slots=4@merge=3,step=1", "into=POSITION");
  says("h2o:slots=4@merge=3,into=3,step=1", "got 3 as both");
  says("h2o:slots=4@evict=3,into=4,step=1", "only a merge");
  says("h2o:slots=4@evict=3,pin=4,step=1", "write two edits");
  says("h2o:slots=4@slots=0", "from 1");
  says("h2o:slots=4@factor=x", "factor");
  says("h2o:slots=4@slots=9,step=1", "whole run");
  says("h2o:slots=4@step=1", "what to change");
  says("h2o:slots=4@evict=3,evict=4,step=1", "twice");
}

TEST(LaneEdits, StepsAreCommonUntilTheFirstDifference) {
  EXPECT_EQ(common_steps(parse_lane_spec("h2o:slots=4"), parse_lane_spec("h2o:slots=4@evict=3,step=7@pin=2,step=9")), 7);
  EXPECT_EQ(common_steps(parse_lane_spec("h2o:slots=4@evict=3,step=7"), parse_lane_spec("h2o:slots=4@evict=3,step=7@pin=2,step=9")), 9);
  EXPECT_EQ(common_steps(parse_lane_spec("h2o:slots=4@evict=3,step=7"), parse_lane_spec("h2o:slots=4@evict=4,step=7")), 7);
  EXPECT_EQ(common_steps(parse_lane_spec("h2o:slots=4"), parse_lane_spec("h2o:slots=4@pin=2")), 0);
  EXPECT_EQ(common_steps(parse_lane_spec("h2o:slots=4"), parse_lane_spec("h2o:slots=5@evict=3,step=7")), 0);
  EXPECT_EQ(common_steps(parse_lane_spec("h2o:slots=4@slots=9"), parse_lane_spec("h2o:slots=4@evict=3,step=7")), 0);
}

TinyHead tiny_head(const StatNeeds& needs, int group) {
  TinyHead head;
  head.k = {{1, 0}, {0, 2}, {3, 1}};
  head.v = {{1, 2}, {3, 4}, {5, 6}};
  for (int i = 0; i < 3; ++i) append_slot(head.slots, needs, group, i);
  return head;
}

TEST(HandPlan, WithoutScoresAMergeIsTheMeanByVotes) {
  const StatNeeds none;
  TinyHead head = tiny_head(none, 1);
  head.apply(none, merge_by_hand(head.slots, none, 1, 0, 2, 0.5));  // 1 vote each
  EXPECT_EQ(head.slots.pos, (std::vector<int>{1, 2}));
  EXPECT_EQ(head.k[1], (std::vector<double>{2, 0.5}));
  EXPECT_EQ(head.slots.votes, (std::vector<int>{1, 2}));
  head.apply(none, merge_by_hand(head.slots, none, 1, 0, 1, 0.5));  // one against two
  ASSERT_EQ(head.slots.size(), 1);
  EXPECT_THAT(head.slots.members(0), ElementsAre(0, 1, 2));
  EXPECT_NEAR(head.k[0][0], (0 * 1 + 2 * 2) / 3.0, 1e-15);
  EXPECT_NEAR(head.v[0][0], (3 * 1 + 3 * 2) / 3.0, 1e-15);
}

TEST(HandPlan, WithCurrentScoresAMergeLeavesTheOutputOfTheCurrentQueryUnchanged) {
  StatNeeds needs;
  needs.z_rows = 1;
  needs.z_now = true;
  TinyHead head = tiny_head(needs, 1);
  const std::vector<double> q = {0.3, -0.7};
  observe_step(head.slots, needs, 1, head.attention(q, Bias::votes), head.logits(q));
  const std::vector<double> before = head.output(q, Bias::votes);
  head.apply(needs, merge_by_hand(head.slots, needs, 1, 0, 2, 0.5));
  const std::vector<double> after = head.output(q, Bias::votes);
  ASSERT_EQ(head.slots.size(), 2);
  for (std::size_t d = 0; d < 2; ++d) EXPECT_NEAR(after[d], before[d], 1e-12 * std::abs(before[d]));
}

TEST(HandPlan, TheLastSlotStays) {
  const StatNeeds none;
  TinyHead head = tiny_head(none, 1);
  const std::vector<int> all = {0, 1, 2};
  EXPECT_EQ(evict_by_hand(head.slots, all).removals.size(), 2u);
}

TEST(TakeBack, ATokenLeavesTheLostOrTheSlotItIsAMemberOfWithItsVote) {
  const StatNeeds none;
  TinyHead head = tiny_head(none, 1);
  head.apply(none, merge_by_hand(head.slots, none, 1, 0, 2, 0.5));
  const std::vector<int> gone = {0};
  head.apply(none, evict_by_hand(head.slots, gone));  // token 1
  take_back(head.slots, 0);
  EXPECT_EQ(insert_slot(head.slots, none, 1, 0), 0);
  take_back(head.slots, 1);
  EXPECT_EQ(insert_slot(head.slots, none, 1, 1), 1);
  EXPECT_EQ(head.slots.pos, (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(head.slots.votes, (std::vector<int>{1, 1, 1}));
  for (int i = 0; i < 3; ++i) EXPECT_THAT(head.slots.members(i), ElementsAre(i));
  EXPECT_EQ(head.slots.evicted_votes, 0);
  EXPECT_TRUE(head.slots.evicted.empty());
}

TEST(InsertSlot, EveryStatisticOfTheOthersMovesWithThem) {
  StatNeeds needs;
  needs.sum = needs.sum_sq = needs.decayed = needs.residual = needs.key_norm = needs.ema = needs.z_now = needs.keep_z_rows = true;
  needs.hits = 70;
  needs.rows = 3;
  needs.z_rows = 2;
  const int group = 2;
  const auto filled = [&](const std::vector<int>& pos) {
    SlotState s;
    for (const int p : pos) append_slot(s, needs, group, p, p + 0.5);
    for (int step = 0; step < 4; ++step) {
      std::vector<double> a, z;
      for (int g = 0; g < group; ++g)
        for (const int p : pos) {
          a.push_back(0.01 * (p + 1) + 0.1 * step);
          z.push_back(p - 0.25 * step + g);
        }
      observe_step(s, needs, group, a, z);
    }
    return s;
  };
  SlotState s = filled({0, 4, 9});
  s.evicted = {6};
  s.evicted_votes = 1;
  take_back(s, 6);
  ASSERT_EQ(insert_slot(s, needs, group, 6, 6.5), 2);
  EXPECT_EQ(s.times, (std::vector<int>{4, 4, 0, 4}));
  EXPECT_EQ(s.ema_n, (std::vector<int>{4, 4, 0, 4}));
  EXPECT_EQ(s.sum[2], 0);
  EXPECT_EQ(s.key_norm, (std::vector<double>{0.5, 4.5, 6.5, 9.5}));
  remove_slots(s, std::vector{2});
  const SlotState want = filled({0, 4, 9});
  EXPECT_EQ(s.sum, want.sum);
  EXPECT_EQ(s.sum_sq, want.sum_sq);
  EXPECT_EQ(s.decayed, want.decayed);
  EXPECT_EQ(s.ema, want.ema);
  EXPECT_EQ(s.z_now, want.z_now);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(s.hits.counts()[static_cast<std::size_t>(i)], want.hits.counts()[static_cast<std::size_t>(i)]);
  for (int r = 0; r < want.rows.rows(); ++r) EXPECT_TRUE(std::ranges::equal(s.rows.row(r), want.rows.row(r)));
  for (int r = 0; r < want.z_rows.rows(); ++r) EXPECT_TRUE(std::ranges::equal(s.z_rows.row(r), want.z_rows.row(r)));
}

}  // namespace
}  // namespace kvscope
