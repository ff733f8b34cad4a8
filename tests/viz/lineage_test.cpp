// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "viz/headless.h"
#include "viz/lineage_fixture.h"
#include "viz/reduce/slot.h"
#include "viz/reduce/text.h"
#include "viz/synthetic.h"
#include "viz/views/inspector/lineage.h"

namespace kvscope::viz {
namespace {

using namespace testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

class SmallRun : public ::testing::Test {
 protected:
  HeadPick at(int step) const {
    Selection selection;
    selection.lane = 1;
    selection.step = step;
    return pick_head(snapshot, selection);
  }
  Snapshot snapshot = small_snapshot();
};

TEST_F(SmallRun, OwnersFollowMergesOfMerges) {
  const auto owners = [this](int step) {
    std::vector<int> out;
    for (int t = 0; t <= at(step).record->position; ++t) out.push_back(slot_facts(at(step), t).pos);
    return out;
  };
  EXPECT_THAT(owners(3), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(owners(5), ElementsAre(0, 3, 3, 3, 4, 5));
  EXPECT_THAT(owners(7), ElementsAre(-1, 3, 3, 3, 4, 3, 6, 7));
}

TEST_F(SmallRun, OwnersAgreeWithTheFatesOnLargerRuns) {
  const Snapshot large = synthetic::make_snapshot();
  for (std::size_t lane = 1; lane < large.lanes.size(); ++lane) {
    const LaneSnapshot& run = large.lanes[lane];
    const int last = static_cast<int>(run.steps.size()) - 1, n = run.steps.back()->position + 1;
    for (int head = 0; head < 24; head += 5) {
      const HeadPick pick{
          static_cast<int>(lane), last, head, true, &run, run.steps.back().get(), &run.steps.back()->heads[static_cast<std::size_t>(head)]};
      const std::vector<Removal> removal = removals_until(run, head, last, n);
      const HeadFates& fates = run.fates->heads[static_cast<std::size_t>(head)];
      for (int t = 0; t < n; ++t) {
        const int owner = slot_facts(pick, t, removal).pos;
        EXPECT_EQ(owner >= 0, fates.lost(t) == kNever) << "lane " << lane << " head " << head << " token " << t;
        if (fates.left(t) == kNever) {
          EXPECT_EQ(owner, t);
        }
      }
    }
  }
}

TEST_F(SmallRun, SlotFactsAreThoseOfTheRecord) {
  const SlotFacts facts = slot_facts(at(7), 3);
  EXPECT_EQ(facts.pos, 3);
  EXPECT_EQ(facts.votes, 4);
  EXPECT_THAT(facts.members, ElementsAre(1, 2, 3, 5));
  EXPECT_DOUBLE_EQ(facts.score, 0.8);
  EXPECT_EQ(facts.n_ranked, 4);  // 3, 4, 6, and what went; the newest is protected
  EXPECT_EQ(facts.rank, 3);
  EXPECT_DOUBLE_EQ(facts.statistic, 0.04);
  EXPECT_DOUBLE_EQ(facts.bias, 1.25);
  EXPECT_EQ(facts.born, 3);
  EXPECT_EQ(facts.last_merge, 7);
}

TEST_F(SmallRun, AMergedTokenIsLookedUpInItsSlot) {
  const SlotFacts facts = slot_facts(at(7), 1);
  EXPECT_EQ(facts.pos, 3);
  EXPECT_EQ(facts.removal.step, 4);
  EXPECT_EQ(facts.evicted, -1);
}

TEST_F(SmallRun, AnEvictedTokenHasNoSlotAndNoInventedNumbers) {
  const SlotFacts facts = slot_facts(at(7), 0);
  EXPECT_EQ(facts.pos, -1);
  EXPECT_EQ(facts.evicted, 6);
  EXPECT_TRUE(std::isnan(facts.score));
  EXPECT_TRUE(std::isnan(facts.bias));
  EXPECT_TRUE(facts.members.empty());
  for (const CardRow& row : slot_card(snapshot, at(7), facts)) {
    if (row.name == "nearest kept key") {
      EXPECT_EQ(row.value, "n/a");
    }
    if (row.name == "evicted") {
      EXPECT_EQ(row.value, "step 6");
    }
    if (row.name == "score at its removal") {
      EXPECT_EQ(row.value, "0.0500");
    }
  }
}

TEST_F(SmallRun, ASlotSaysWhetherItIsProtected) {
  snapshot.lanes[1].sinks = 1;
  const HeadRecord& head = snapshot.lanes[1].steps[7]->heads[0];
  const auto row = [&](int token) {
    for (const CardRow& r : slot_card(snapshot, at(7), slot_facts(at(7), token)))
      if (r.name == "protected") return r.value;
    return std::string("none");
  };
  EXPECT_EQ(row(7), "recent") << "the newest one";
  EXPECT_EQ(row(4), "no");
  EXPECT_EQ(row(0), "none") << "no slot, nothing to protect";
  EXPECT_EQ(protection_of(snapshot.lanes[1], head, head.pos, 0), "sink");
  const Why why = why_of(at(7), 0);
  EXPECT_EQ(why.protection, "sink");
  EXPECT_EQ(why_steps(snapshot, at(7), why)[0].lines[1], "it was protected (sink)");
}

TEST_F(SmallRun, TokensOutsideTheTextGiveNothing) {
  for (const int token : {-1, 8, 1000}) {
    EXPECT_EQ(slot_facts(at(7), token).token, -1);
    EXPECT_EQ(lineage_of(at(7), token).root, -1);
    EXPECT_EQ(why_of(at(7), token).step, -1);
  }
}

TEST_F(SmallRun, LineageOfARestoredTokenHasAGap) {
  const Lineage before = lineage_of(at(7), 2);
  ASSERT_NE(before.line(2), nullptr);
  EXPECT_TRUE(before.line(2)->gaps.empty());
  LaneSnapshot& run = snapshot.lanes[1];
  const auto add = [&run](int step, Event::Kind kind) {
    auto record = std::make_shared<StepRecord>(*run.steps[static_cast<std::size_t>(step)]);
    record->heads[0].events.push_back({.kind = kind, .pos = 2, .by_hand = true});
    run.steps[static_cast<std::size_t>(step)] = record;
  };
  add(5, Event::Kind::evict);
  add(6, Event::Kind::restore);
  const Lineage after = lineage_of(at(7), 2);
  ASSERT_NE(after.line(2), nullptr);
  EXPECT_EQ(after.line(2)->gaps, (std::vector<std::pair<int, int>>{{5, 6}}));
}

/// A slot that was given back and taken again must not pass for one that went once.
TEST_F(SmallRun, ARestoredTokenThatGoesAgainSaysSo) {
  LaneSnapshot& run = snapshot.lanes[1];
  run.score_equation = "Σ attention of every query so far";
  const auto add = [&run](int step, Event event) {
    auto record = std::make_shared<StepRecord>(*run.steps[static_cast<std::size_t>(step)]);
    record->heads[0].events.push_back(std::move(event));
    run.steps[static_cast<std::size_t>(step)] = record;
  };
  const auto lines = [&] {
    std::string all;
    for (const WhyStep& step : why_steps(snapshot, at(7), why_of(at(7), 0)))
      for (const std::string& line : step.lines) all += line + '\n';
    return all;
  };
  EXPECT_EQ(lines().find("restored"), std::string::npos);
  add(6, {.kind = Event::Kind::restore, .pos = 0, .by_hand = true});  // in the very step in which it went
  const Lineage there = lineage_of(at(6), 0);
  EXPECT_EQ(lineage_headline(there), "slot 0 · no merges · restored at step 6");
  add(7, evict_event(0, 0.02));
  const Lineage again = lineage_of(at(7), 0);
  EXPECT_EQ(lineage_headline(again), "slot 0 · restored at step 6 · evicted again at step 7");
  EXPECT_EQ(lineage_lines(snapshot.tokens, again, 0)[1], "gone at step 6, restored at step 6");
  EXPECT_NE(why_headline(snapshot.tokens, why_of(at(7), 0)).find("evicted again at step 7, restored at step 6"), std::string::npos)
      << why_headline(snapshot.tokens, why_of(at(7), 0));
  EXPECT_NE(lines().find("restored by hand in step 6: attention that it got before is not in its score"), std::string::npos) << lines();
}

TEST_F(SmallRun, LineageHoldsEveryMergeWithItsVotes) {
  const Lineage tree = lineage_of(at(7), 2);
  EXPECT_EQ(tree.root, 3);
  EXPECT_FALSE(tree.evicted);
  EXPECT_EQ(tree.merges, 3);
  ASSERT_EQ(tree.lines.size(), 4u);
  const LineageLine *one = tree.line(1), *two = tree.line(2), *root = tree.line(3);
  EXPECT_EQ(one->into, 2);
  EXPECT_EQ(one->end, 4);
  EXPECT_DOUBLE_EQ(one->w_removed, 0.25);
  EXPECT_DOUBLE_EQ(one->cos, 0.90);
  EXPECT_EQ(two->into, 3);
  EXPECT_THAT(two->votes, ElementsAre(Pair(2, 1), Pair(4, 2)));
  EXPECT_EQ(root->into, -1);
  EXPECT_THAT(root->votes, ElementsAre(Pair(3, 1), Pair(5, 3), Pair(7, 4)));
  EXPECT_EQ(lineage_headline(tree), "slot 3 · 3 merges");
}

TEST_F(SmallRun, LineageOfThePastDoesNotKnowTheFuture) {
  const Lineage tree = lineage_of(at(4), 1);
  EXPECT_EQ(tree.root, 2);
  EXPECT_EQ(tree.lines.size(), 2u);
  EXPECT_EQ(tree.line(2)->last_votes(), 2);
}

TEST_F(SmallRun, AnEvictedSlotEndsItsTree) {
  const Lineage tree = lineage_of(at(7), 0);
  EXPECT_TRUE(tree.evicted);
  EXPECT_EQ(tree.line(0)->end, 6);
  EXPECT_EQ(lineage_headline(tree), "slot 0 · evicted at step 6");
}

TEST_F(SmallRun, TrimmingKeepsTheRootAndNeverALineWithoutItsTarget) {
  const Lineage tree = trimmed(lineage_of(at(7), 3), 2);
  EXPECT_EQ(tree.left_out, 2);
  ASSERT_EQ(tree.lines.size(), 2u);
  EXPECT_NE(tree.line(3), nullptr);
  EXPECT_NE(tree.line(2), nullptr);  // two votes, more than 1 and 5 with one each
  const Snapshot large = synthetic::make_snapshot();
  Selection selection;
  selection.lane = 3;
  const HeadPick pick = pick_head(large, selection);
  for (int token = 0; token < 179; token += 3) {
    const Lineage few = trimmed(lineage_of(pick, token), 4);
    EXPECT_LE(few.lines.size(), 4u);
    for (const LineageLine& line : few.lines) {
      if (line.into >= 0) {
        EXPECT_NE(few.line(line.into), nullptr) << "token " << line.token;
      }
    }
  }
}

TEST_F(SmallRun, WhyPutsTheRecordsNumbersIntoTheEquation) {
  const Why why = why_of(at(7), 3);  // the last merge into slot 3
  EXPECT_EQ(why.step, 7);
  EXPECT_EQ(why.event.pos, 5);
  EXPECT_EQ(why.removed_votes, 1);
  EXPECT_EQ(why.slots_before, 5);
  EXPECT_EQ(why.budget, 4);
  EXPECT_EQ(why.n_ranked, 4);
  EXPECT_EQ(why.rank, 4);
  EXPECT_DOUBLE_EQ(why.threshold, 0.8);
  EXPECT_EQ(why_headline(snapshot.tokens, why), "slot 5 «t5» (1 vote) merged into slot 3 at step 7");
  const std::vector<WhyStep> steps = why_steps(snapshot, at(7), why);
  ASSERT_EQ(steps.size(), 4u);
  EXPECT_EQ(steps[0].title, "Over budget: 5 slots, 4 allowed");
  EXPECT_EQ(steps[0].lines[0], "lowest score of 4 ranked: 0.300  ·  lowest kept then (step 7), slot 3 «t3»: 0.800");
  EXPECT_EQ(steps[0].lines[1], "not protected: no sinks, not the newest, not pinned");
  EXPECT_EQ(steps[1].title, "Nearest key: slot 3 «t3», cosine 0.950 ≥ 0.80, so it merges");
  EXPECT_EQ(steps[2].lines[0], "w₅ = µ₅/(µ₅ + µ₃) = 0.00300/(0.00300 + 0.00700) = 0.300");
  EXPECT_EQ(steps[2].lines[1], "k = 0.300 k₅ + 0.700 k₃     v alike     P = 1 + 3 = 4 votes");
  // ln 4 = 1.386294; minus 0.0031
  EXPECT_EQ(steps[3].lines[0], "b = 1.3863 − 0.0031 = 1.3832");
  ASSERT_EQ(steps[3].rows.size(), 3u);
  EXPECT_THAT(steps[3].rows[1], ElementsAre("0", "2.500", "2.400", "+0.100", "+0.103"));
  EXPECT_THAT(steps[3].rows[2], ElementsAre("1", "4.500", "4.600", "−0.100", "−0.097"));
}

TEST_F(SmallRun, WhyNamesTheRunnerUpsAndThePredictedScores) {
  auto step = std::make_shared<StepRecord>(*snapshot.lanes[1].steps[7]);
  step->heads[0].events[0].runner_ups = {{4, 0.7}, {6, 0.4}};
  step->heads[0].merges[0].log_scores = {2.6, 4.4, 2.1, 4.7};  // slot 3, then 5, per query head
  snapshot.lanes[1].steps[7] = step;
  const std::vector<WhyStep> steps = why_steps(snapshot, at(7), why_of(at(7), 3));
  ASSERT_EQ(steps.size(), 4u);
  EXPECT_THAT(steps[1].keys, ElementsAre(std::pair(3, 0.95), std::pair(4, 0.7), std::pair(6, 0.4)));
  EXPECT_THAT(steps[3].rows[0], ElementsAre("query head", "ŝ₅", "ŝ₃", "T", "m", "T − m", "left over"));
  EXPECT_THAT(steps[3].rows[1], ElementsAre("0", "2.100", "2.600", "2.500", "2.400", "+0.100", "+0.103"));
  EXPECT_EQ(steps[3].lines[1], "T = ln((1 e^ŝ₅ + 3 e^ŝ₃)/4)");
}

TEST_F(SmallRun, WhyOfAGoneTokenIsItsOwnRemoval) {
  const Why merged = why_of(at(7), 2);
  EXPECT_EQ(merged.step, 5);
  EXPECT_EQ(merged.event.into, 3);
  EXPECT_EQ(merged.removed_votes, 2);  // without a merge detail: counted from the events
  const std::vector<WhyStep> steps = why_steps(snapshot, at(7), merged);
  ASSERT_EQ(steps.size(), 3u);  // no T and m in the record, so no fourth step
  EXPECT_EQ(steps[2].lines[0], "w₂ = 0.400  (removed)     w₃ = 0.600  (target)");
  const Why evicted = why_of(at(7), 0);
  EXPECT_EQ(why_headline(snapshot.tokens, evicted), "slot 0 «t0» (1 vote) evicted at step 6");
  EXPECT_EQ(why_steps(snapshot, at(7), evicted)[1].title, "Nothing takes it over: it is evicted");
}

TEST_F(SmallRun, WhySaysWhereTheValueOfAnEvictedSlotWent) {
  auto step = std::make_shared<StepRecord>(*snapshot.lanes[1].steps[6]);
  step->heads[0].events[0].spread = {3, 4};
  snapshot.lanes[1].steps[6] = step;
  const std::vector<WhyStep> steps = why_steps(snapshot, at(7), why_of(at(7), 0));
  ASSERT_EQ(steps.size(), 4u);
  EXPECT_EQ(steps[2].title, "Its value went on in equal parts to 2 slots");
  EXPECT_EQ(steps[2].lines[0], "v += v₀/2 for slots 3 to 4; keys stay");
}

TEST_F(SmallRun, AThresholdFoundInTheStepGoesBeforeTheParameter) {
  auto step = std::make_shared<StepRecord>(*snapshot.lanes[1].steps[7]);
  step->heads[0].merge_theta = 0.875;
  snapshot.lanes[1].steps[7] = step;
  EXPECT_DOUBLE_EQ(why_of(at(7), 3).threshold, 0.875);
  EXPECT_DOUBLE_EQ(why_of(at(7), 2).threshold, 0.8);
}

TEST_F(SmallRun, AHeadsOwnThresholdGoesBeforeThatOfTheRun) {
  const auto said = [&](const std::vector<HeadParam>& params) {
    snapshot.lanes[1].head_params = params;
    const Why why = why_of(at(7), 3);
    EXPECT_NE(why_steps(snapshot, at(7), why)[1].title.find(fmt::format("≥ {:.2f}, so it merges", why.threshold)), std::string::npos);
    return why.threshold;
  };
  EXPECT_DOUBLE_EQ(said({{0, 0, "threshold", "0.6"}}), 0.6);
  EXPECT_DOUBLE_EQ(said({{0, -1, "threshold", "0.5"}}), 0.5) << "all heads of the layer";
  EXPECT_DOUBLE_EQ(said({{0, 0, "threshold", "0.6"}, {0, -1, "threshold", "0.5"}}), 0.5) << "the last one holds";
  EXPECT_DOUBLE_EQ(said({{0, 1, "threshold", "0.6"}, {1, -1, "threshold", "0.5"}, {0, 0, "recent", "0.2"}}), 0.8)
      << "none is for this head";
}

TEST_F(SmallRun, ASlotThatNothingHappenedToHasNoReasons) {
  EXPECT_EQ(why_of(at(7), 4).step, -1);
  EXPECT_TRUE(why_steps(snapshot, at(7), why_of(at(7), 4)).empty());
}

TEST_F(SmallRun, ScoreWithoutNumberIsSaidNotShownAsZero) {
  auto step = std::make_shared<StepRecord>(*snapshot.lanes[1].steps[6]);
  step->heads[0].events[0].score = kNotAvailable;
  snapshot.lanes[1].steps[6] = step;
  EXPECT_EQ(why_steps(snapshot, at(7), why_of(at(7), 0))[0].lines[0],
            "no ranking score is known: the policy chose without one, or its file does not say it");
}

TEST(MergedBias, IsLogOfAllVotesPlusExtra) {
  MergeDetail detail;
  detail.votes = {2, 6};
  detail.extra = -0.0031;
  EXPECT_NEAR(merged_bias(detail), 2.0763, 5e-5);  // ln 8 = 2.0794
  EXPECT_TRUE(std::isnan(merged_bias(MergeDetail{})));
}

TEST(ParamNumber, ReadsNumbersOnly) {
  LaneSnapshot lane;
  lane.params = {{"threshold", "0.75"}, {"form", "bias"}, {"window", "32x"}};
  EXPECT_DOUBLE_EQ(param_number(lane, "threshold"), 0.75);
  EXPECT_TRUE(std::isnan(param_number(lane, "form")));
  EXPECT_TRUE(std::isnan(param_number(lane, "window")));
  EXPECT_TRUE(std::isnan(param_number(lane, "absent")));
}

}  // namespace
}  // namespace kvscope::viz
