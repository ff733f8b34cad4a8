// SPDX-License-Identifier: Apache-2.0
// What is changed by hand in a lane: what-ifs and budgets of single heads.
#include <gtest/gtest.h>

#include <algorithm>

#include "core/error.h"
#include "policies_with.h"
#include "policy/catalog.h"
#include "policy/text/lane_edits.h"
#include "runs.h"
#include "runtime/session/session.h"

namespace kvscope {
namespace {

using namespace kvscope::testing;

RunRequest what_if_request(std::vector<std::string> lanes, PromptMode mode, int n_prompt, int n_generate, unsigned seed = 11) {
  RunRequest request;
  request.prompt_ids = random_ids(n_prompt, 64, seed);
  request.lanes = parse_lane_specs(lanes);
  request.mode = mode;
  request.n_generate = n_generate;
  return request;
}

/// The removals of every step of a lane as what-ifs, head by head.
LaneEdits removals_by_hand(const LaneSnapshot& lane) {
  LaneEdits edits;
  for (const StepPtr& step : lane.steps)
    for (const HeadRecord& head : step->heads)
      for (const Event& e : head.events)
        edits.what_ifs.push_back({.kind = e.kind == Event::Kind::merge ? WhatIf::Kind::merge : WhatIf::Kind::evict,
                                  .step = step->step,
                                  .heads = {{head.layer}, {head.kv_head}},
                                  .positions = {e.pos},
                                  .into = e.into});
  return edits;
}

void expect_invariants(const LaneSnapshot& lane, const std::string& where) {
  for (const StepPtr& step : lane.steps) {
    for (std::size_t h = 0; h < step->heads.size(); ++h) {
      const HeadRecord& head = step->heads[h];
      int votes = 0;
      for (const int v : head.votes) votes += v;
      EXPECT_EQ(votes + head.evicted_votes, step->position + 1) << where << " step " << step->step;
      EXPECT_TRUE(std::ranges::is_sorted(head.pos) && std::ranges::adjacent_find(head.pos) == head.pos.end()) << where;
      EXPECT_TRUE(head.score.empty() || head.score.size() == head.pos.size()) << where;
      std::vector<int> own;
      int lost = 0;
      for (int t = 0; t <= step->position; ++t) {
        const Fate fate = fate_at(lane.fates->heads[h], t, step->step);
        if (fate.left > step->step) own.push_back(t);
        lost += fate.lost <= step->step;
        const int slot = slot_of(*lane.fates, *step, static_cast<int>(h), t);
        EXPECT_EQ(slot >= 0, fate.lost > step->step) << where;
        if (slot >= 0) {
          EXPECT_TRUE(std::ranges::binary_search(head.pos, slot)) << where << " token " << t << " step " << step->step;
        }
      }
      EXPECT_EQ(own, head.pos) << where << " step " << step->step;
      EXPECT_EQ(lost, head.evicted_votes) << where << " step " << step->step;
    }
  }
}

class WhatIf_ : public ::testing::TestWithParam<PromptMode> {};
INSTANTIATE_TEST_SUITE_P(Modes, WhatIf_, ::testing::Values(PromptMode::prefill, PromptMode::stream),
                         [](const auto& mode) { return mode.param == PromptMode::prefill ? "prefill" : "stream"; });

TEST_P(WhatIf_, EvictingByHandWhatAPolicyEvictsIsThatPolicy) {
  Session session = open_session(tiny_model());
  for (const std::string policy : {"local", "h2o", "tova", "streaming"}) {
    RunRequest request = what_if_request({policy + ":slots=12"}, GetParam(), 40, 6);
    const Snapshot by_policy = run(session, request);
    request.lanes = parse_lane_specs({with_edits(policy + ":slots=900", removals_by_hand(by_policy.lanes[1]))});
    const Snapshot by_hand = run(session, request);
    const LaneSnapshot &want = by_policy.lanes[1], &got = by_hand.lanes[1];
    ASSERT_EQ(got.steps.size(), want.steps.size());
    for (std::size_t s = 0; s < want.steps.size(); ++s) {
      EXPECT_EQ(got.steps[s]->logits_top, want.steps[s]->logits_top) << policy << " step " << s;
      for (std::size_t h = 0; h < want.steps[s]->heads.size(); ++h) {
        const HeadRecord &x = got.steps[s]->heads[h], &y = want.steps[s]->heads[h];
        EXPECT_EQ(x.pos, y.pos) << policy << " step " << s;
        EXPECT_EQ(x.compress_rel_l2, y.compress_rel_l2) << policy;
        EXPECT_EQ(x.local_l1_wo, y.local_l1_wo) << policy;
        for (const Event& e : x.events) EXPECT_TRUE(e.by_hand);
        for (const Event& e : y.events) EXPECT_FALSE(e.by_hand);
      }
    }
    EXPECT_GT(want.steps.back()->kl, 0) << policy;
  }
}

TEST(WhatIf, MergingByHandAsKeepkvDoesIsKeepkv) {
  Session session = open_session(tiny_model());
  const std::string keys = ",threshold=-1,sinks=2,recent=3";
  RunRequest request = what_if_request({"keepkv:slots=12" + keys}, PromptMode::stream, 40, 3);
  const Snapshot by_policy = run(session, request);
  request.lanes = parse_lane_specs({with_edits("keepkv:slots=900" + keys, removals_by_hand(by_policy.lanes[1]))});
  const Snapshot by_hand = run(session, request);
  int merges = 0;
  for (std::size_t s = 0; s < by_policy.lanes[1].steps.size(); ++s) {
    const StepRecord &want = *by_policy.lanes[1].steps[s], &got = *by_hand.lanes[1].steps[s];
    EXPECT_EQ(got.logits_top, want.logits_top) << s;
    for (std::size_t h = 0; h < want.heads.size(); ++h) {
      EXPECT_EQ(got.heads[h].votes, want.heads[h].votes);
      EXPECT_EQ(got.heads[h].bias, want.heads[h].bias);
      merges += static_cast<int>(want.heads[h].merges.size());
      ASSERT_EQ(got.heads[h].merges.size(), want.heads[h].merges.size());
      for (std::size_t m = 0; m < want.heads[h].merges.size(); ++m) EXPECT_EQ(got.heads[h].merges[m].mu, want.heads[h].merges[m].mu);
    }
  }
  EXPECT_GT(merges, 50);
}

TEST(WhatIf, RestoringEverythingThatWasEvictedIsTheFullCacheAgain) {
  Session session = open_session(tiny_model());
  RunRequest request =
      what_if_request({"snapkv:slots=12", "full@evict=1-30,step=0", "streaming:slots=900@evict=1-30,step=0"}, PromptMode::prefill, 40, 6);
  const Snapshot evicted = run(session, request);
  for (LaneSpec& lane : request.lanes) lane = parse_lane_spec(lane.text + "@restore=0-39,step=0");
  const Snapshot restored = run(session, request);
  for (const std::size_t l : {1u, 2u, 3u}) {
    EXPECT_GT(evicted.lanes[l].steps.back()->kl, 0) << evicted.lanes[l].spec;
    for (std::size_t s = 0; s < restored.lanes[l].steps.size(); ++s) {
      if (l < 3) {  // positions=cache turns keys back and forth, which rounds
        EXPECT_EQ(restored.lanes[l].steps[s]->logits_top, restored.lanes[0].steps[s]->logits_top)
            << restored.lanes[l].spec << " step " << s;
      }
      EXPECT_LT(std::abs(restored.lanes[l].steps[s]->kl), 1e-12);
      for (const HeadRecord& head : restored.lanes[l].steps[s]->heads) {
        EXPECT_EQ(head.evicted_votes, 0);
        EXPECT_EQ(static_cast<int>(head.pos.size()), restored.lanes[l].steps[s]->position + 1);
      }
    }
  }
}

TEST(WhatIf, WhatGoesByHandFromTheFullCacheIsMeasuredAsInAnyOtherRun) {
  Session session = open_session(tiny_model());
  const Snapshot out =
      run(session, what_if_request({"full@evict=1-30,step=0", "h2o:slots=900@evict=1-30,step=0"}, PromptMode::prefill, 40, 4));
  double lost = 0;
  for (std::size_t s = 0; s < out.lanes[1].steps.size(); ++s) {
    for (std::size_t h = 0; h < out.lanes[1].steps[s]->heads.size(); ++h) {
      const HeadRecord &full = out.lanes[1].steps[s]->heads[h], &other = out.lanes[2].steps[s]->heads[h];
      EXPECT_EQ(full.reference_attention, other.reference_attention) << "step " << s << " head " << h;
      EXPECT_FALSE(full.reference_attention.empty());
      EXPECT_EQ(full.attention_loss, other.attention_loss);
      EXPECT_EQ(full.local_rel_l2, other.local_rel_l2);
      lost += full.attention_loss;
    }
  }
  EXPECT_GT(lost, 0);
}

TEST_P(WhatIf_, WhatWasPinnedFromTheStartNeverGoesUnderAnyPolicy) {
  Session session = open_session(tiny_model());
  const std::string pins = "@pin=5,6,17@pin=9,layers=0,heads=1@pin=30,step=30";
  std::vector<std::string> lanes = policies_with("12", GetParam());
  for (std::string& lane : lanes) lane += pins;
  const Snapshot out = run(session, what_if_request(lanes, GetParam(), 50, 8));
  for (std::size_t l = 1; l < out.lanes.size(); ++l) {
    expect_invariants(out.lanes[l], out.lanes[l].spec);
    for (const StepPtr& step : out.lanes[l].steps)
      for (const HeadRecord& head : step->heads) {
        std::vector<int> want = {5, 6, 17};
        if (head.layer == 0 && head.kv_head == 1) want = {5, 6, 9, 17};
        if (step->step >= 30) want.push_back(30);
        EXPECT_EQ(head.pinned, want) << out.lanes[l].spec;
        for (const int pos : want) {
          if (pos > step->position || pos == 30) continue;
          EXPECT_TRUE(std::ranges::binary_search(head.pos, pos)) << out.lanes[l].spec << " token " << pos << " step " << step->step;
        }
      }
  }
}

TEST_P(WhatIf_, BookkeepingHoldsUnderEveryPolicyAndAnyEdit) {
  Session session = open_session(tiny_model());
  std::vector<std::string> lanes = policies_with("12", GetParam());
  lanes.push_back("full");
  // Step 2 is early in stream mode; the others follow the prompt in both.
  const std::string edits =
      "@evict=1,step=2@restore=1,step=2,layers=1@evict=0,3,step=41,heads=1@merge=45-48,into=49,step=51,layers=0@restore=2-30,step=53"
      "@merge=7,into=8,step=53@restore=7,step=54,heads=0@evict=8,step=54@restore=40-44,step=55,layers=1,heads=0@pin=40,step=55";
  std::string early;
  if (GetParam() == PromptMode::prefill) {
    early =
        "@restore=2-30,step=1@merge=20-22,into=23,step=1@evict=45-47,step=2,layers=1@restore=21,step=3,layers=0@evict=23,step=3@pin=21,step=3";
  } else {
    early = edits;
  }
  for (std::string& lane : lanes) lane += early;
  const Snapshot out = run(session, what_if_request(lanes, GetParam(), 50, 8));
  int restored = 0;
  for (const LaneSnapshot& lane : out.lanes) {
    expect_invariants(lane, lane.spec);
    for (const StepPtr& step : lane.steps)
      for (const HeadRecord& head : step->heads)
        for (const Event& e : head.events) restored += e.kind == Event::Kind::restore;
  }
  EXPECT_GT(restored, 300);
}

TEST_P(WhatIf_, AForkLeavesItsBaselineAndUndoLeavesNothing) {
  const RunRequest plain = what_if_request({"h2o:slots=12", "keepkv:slots=12"}, GetParam(), 40, 5);
  Session never = open_session(tiny_model());
  const Snapshot want = run(never, plain);
  Session session = open_session(tiny_model());
  run(session, plain);
  RunRequest forked = plain;
  forked.lanes.push_back(parse_lane_spec("h2o:slots=12@evict=39,step=0@evict=40,step=2"));
  const Snapshot out = run(session, forked);
  Snapshot baseline = out;
  baseline.lanes.resize(3);
  expect_same_run(baseline, want);
  EXPECT_EQ(out.lanes[3].fork_of, 1);
  EXPECT_EQ(out.lanes[1].fork_of, -1);
  expect_same_run(run(session, plain), want);
}

TEST_P(WhatIf_, AForkFromACheckpointEqualsAForkFromTheStart) {
  RunRequest request = what_if_request({"h2o:slots=12", "weightedkv:slots=12"}, GetParam(), 60, 75);
  Session session = open_session(tiny_model());
  run(session, request);
  const int late = GetParam() == PromptMode::prefill ? 70 : 130;
  for (const int step : {late, 64, 63, 2}) {
    request.lanes.push_back(parse_lane_spec("h2o:slots=12@evict=" + std::to_string(step - 1) + ",step=" + std::to_string(step)));
    request.lanes.push_back(parse_lane_spec("weightedkv:slots=12@restore=3,step=" + std::to_string(step)));
  }
  Session fresh = open_session(tiny_model());
  expect_same_run(run(session, request), run(fresh, request));
}

TEST_P(WhatIf_, AForkOfARunWithAMergeByHandHasItsOwnBound) {
  RunRequest request = what_if_request({"h2o:slots=12@merge=39,into=38,step=65"}, GetParam(), 40, 75);
  request.measures = MeasureSet::all();
  Session session = open_session(tiny_model());
  run(session, request);
  request.lanes.push_back(parse_lane_spec("h2o:slots=12@evict=39,step=70"));
  Session fresh = open_session(tiny_model());
  expect_same_run(run(session, request), run(fresh, request));
}

TEST_P(WhatIf_, ThreadsChangeNothing) {
  std::vector<std::string> lanes = policies_with("12", GetParam());
  for (std::string& lane : lanes) lane += "@restore=3-9,step=1@merge=20,into=30,step=1,heads=0@pin=4@slots=20,layers=1";
  const RunRequest request = what_if_request(lanes, GetParam(), 40, 4);
  Session one = open_session(tiny_model(), DType::f32, 1), many = open_session(tiny_model(), DType::f32, 3);
  expect_same_run(run(one, request), run(many, request));
}

TEST_P(WhatIf_, ABudgetForEveryHeadIsTheBudgetOfTheLane) {
  Session session = open_session(tiny_model());
  for (const std::string policy : {"local", "h2o", "weightedkv", "tova", "lm_infinite"}) {
    const Snapshot want = run(session, what_if_request({policy + ":slots=16"}, GetParam(), 50, 6));
    for (const std::string edit : {"@slots=16", "@factor=0.5", "@slots=99@slots=16", "@slots=16@slots=99,on=0"}) {
      const Snapshot got = run(session, what_if_request({policy + ":slots=32" + edit}, GetParam(), 50, 6));
      expect_same_run(got, want);
      for (const HeadRecord& head : got.lanes[1].steps.back()->heads) {
        EXPECT_EQ(head.budget, 16);
        EXPECT_TRUE(head.overridden);
      }
    }
  }
}

TEST_P(WhatIf_, ABudgetOfOneHeadHoldsThereAndTheOthersKeepTheirs) {
  Session session = open_session(tiny_model());
  std::vector<std::string> plain = policies_with("16", GetParam()), edited = plain;
  for (std::string& lane : edited) lane += "@slots=11,layers=1,heads=0@slots=24,layers=0,heads=1";
  const Snapshot a = run(session, what_if_request(plain, GetParam(), 60, 8)), b = run(session, what_if_request(edited, GetParam(), 60, 8));
  for (std::size_t l = 1; l < b.lanes.size(); ++l) {
    expect_invariants(b.lanes[l], b.lanes[l].spec);
    for (std::size_t s = 0; s < b.lanes[l].steps.size(); ++s)
      for (std::size_t h = 0; h < b.lanes[l].steps[s]->heads.size(); ++h) {
        const HeadRecord &x = a.lanes[l].steps[s]->heads[h], &y = b.lanes[l].steps[s]->heads[h];
        const std::string where = b.lanes[l].spec + " step " + std::to_string(s) + " head " + std::to_string(h);
        const bool one = y.layer == 1 && y.kv_head == 0, other = y.layer == 0 && y.kv_head == 1;
        EXPECT_EQ(y.overridden, one || other) << where;
        if (one) {
          EXPECT_LT(y.budget, 16) << where;  // 11, or what the policy needs at least
          EXPECT_GE(y.budget, 11) << where;
        } else if (other) {
          EXPECT_EQ(y.budget, 24) << where;
        }
        if (s == 0 && !one && !other && a.lanes[l].policy != "adakv") {
          EXPECT_EQ(x.pos, y.pos) << where;
        }
      }
    for (std::size_t s = 0; s < b.lanes[l].steps.size(); ++s) {
      // policies that compress in every step hold it
      const HeadRecord &x = a.lanes[l].steps[s]->heads[1], &y = b.lanes[l].steps[s]->heads[1];
      if (static_cast<int>(x.pos.size()) <= x.budget) {
        EXPECT_LE(static_cast<int>(y.pos.size()), 24 + (b.lanes[l].policy == "kvmerger" ? 1 : 0)) << b.lanes[l].spec << " step " << s;
      }
    }
  }
}

TEST(WhatIf, WhatTheModelOrPolicyDoesNotHaveIsRefused) {
  Session session = open_session(tiny_model());
  for (const std::string lane : {"h2o:slots=12@evict=3,step=1,layers=2", "h2o:slots=12@slots=3,heads=7", "full@slots=12"}) {
    EXPECT_THROW(run(session, what_if_request({lane}, PromptMode::prefill, 20, 2)), UsageError) << lane;
  }
}

/// How many edits of the second lane changed nothing, as its warnings say; -1: they do not.
int idle_edits(const std::string& edits) {
  Session session = open_session(tiny_model());
  const Snapshot out = run(session, what_if_request({"h2o:slots=12" + edits}, PromptMode::prefill, 20, 3));  // positions 0-22, steps 0-3
  const std::vector<LaneWarning>& warnings = out.lanes[1].warnings;
  const auto said = std::ranges::find(warnings, LaneWarning::Kind::edits_idle, &LaneWarning::kind);
  return said == warnings.end() ? -1 : static_cast<int>(said->count);
}

TEST(WhatIf, AnEditThatNothingCameOfIsSaid) {
  for (const std::string idle : {"@pin=999", "@pin=3,step=77", "@evict=999,step=1", "@evict=3,step=77", "@restore=999,step=1",
                                 "@merge=19,into=999,step=1", "@restore=19,step=1" /* it is there */}) {
    EXPECT_EQ(idle_edits(idle), 1) << idle;
  }
  for (const std::string done :
       {"@pin=3", "@pin=3,999", "@evict=19,step=1", "@evict=19,999,step=1", "@merge=19,into=18,step=1", "@restore=2-15,step=1"}) {
    EXPECT_EQ(idle_edits(done), -1) << done;
  }
  EXPECT_EQ(idle_edits("@evict=19,step=1@evict=19,step=2@pin=3"), 1) << "it is gone already";
  EXPECT_EQ(idle_edits("@evict=19,step=1@evict=19,step=1"), 1) << "nor is the second one's work the first one's";
  EXPECT_EQ(idle_edits("@evict=18,step=1@merge=19,into=18,step=1@merge=19,into=17,step=1"), 1) << "the first target is gone";
  EXPECT_EQ(idle_edits("@restore=19,step=1@evict=19,step=1@restore=19,step=1@pin=19,step=1"), 1) << "it was there at first";
}

}  // namespace
}  // namespace kvscope
