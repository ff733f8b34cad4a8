// SPDX-License-Identifier: Apache-2.0
// Why a token is still there: the selection that it came through, also where later steps select nothing.
#include "viz/reduce/why/why_kept.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "snapshot/fates.h"
#include "snapshot/held_bytes.h"
#include "viz/reduce/slot.h"
#include "viz/reduce/text.h"
#include "viz/reduce/why/why_refitted.h"
#include "viz/synthetic.h"

namespace kvscope::viz {
namespace {

Event gone(int pos, double score) {
  Event event;
  event.kind = Event::Kind::evict;
  event.pos = pos;
  event.score = score;
  return event;
}

/// A head of one layer whose prompt of six tokens was cut to four once; the next token came in afterwards.
class CutOnce : public ::testing::Test {
 protected:
  void SetUp() override {
    for (int t = 0; t < 7; ++t) snapshot_.tokens.push_back({t, "t" + std::to_string(t)});
    snapshot_.n_prompt = 6;
    auto prompt = std::make_shared<StepRecord>();
    prompt->position = 5;
    HeadRecord head;
    head.budget = 4;
    head.recent = 1;
    head.n_slots = 4;
    head.pos = {0, 2, 3, 5};
    head.score = {kNotAvailable, 0.5, 0.3, kNotAvailable};
    head.cutoff = 0.3;
    head.events = {gone(1, 0.1), gone(4, 0.3)};
    prompt->heads = {head};
    auto next = std::make_shared<StepRecord>();
    next->step = 1;
    next->position = 6;
    head.events.clear();
    head.score.clear();
    head.cutoff = kNotAvailable;
    head.pos = {0, 2, 3, 5, 6};
    head.n_slots = 5;
    next->heads = {head};
    lane_.sinks = 1;
    lane_.slots_asked = 4;
    lane_.steps = {prompt, next};
    pick_.lane = 1;
    pick_.step = 1;
    pick_.head = 0;
    pick_.run = &lane_;
    pick_.record = lane_.steps[1].get();
    pick_.values = &pick_.record->heads[0];
  }
  Snapshot snapshot_;
  LaneSnapshot lane_;
  HeadPick pick_;
};

TEST_F(CutOnce, TheScoreIsTakenApartOfWhatStayedAndOfWhatWent) {
  lane_.score_equation = "0.5 a − b";
  auto prompt = std::make_shared<StepRecord>(*lane_.steps[0]);
  prompt->heads[0].parts = {.pos = {0, 1, 2, 3, 4, 5},
                            .parts = {{"a", {NAN, 0.4f, 1.2f, 0.8f, 0.9f, NAN}}, {"b", {NAN, 0.1f, 0.1f, 0.1f, 0.15f, NAN}}}};
  lane_.steps[0] = prompt;
  lane_.slots_asked = 3;
  const std::vector<WhyStep> stays = why_kept_steps(snapshot_, pick_, 3);
  ASSERT_EQ(stays.size(), 2u);
  EXPECT_EQ(stays[0].lines.back(), "this head's share as it came out: 1 more than the 3 asked for each");
  const auto last_two = [](const WhyStep& step) { return std::vector<std::string>(step.lines.end() - 2, step.lines.end()); };
  EXPECT_EQ(last_two(stays[1]), (std::vector<std::string>{"score = 0.5 a − b", "token 3:  a = 0.800  ·  b = 0.100"}));
  const std::vector<WhyStep> gone = why_steps(snapshot_, pick_, why_of(pick_, 4));
  EXPECT_EQ(last_two(gone.at(0)), (std::vector<std::string>{"score = 0.5 a − b", "token 4:  a = 0.900  ·  b = 0.150"}));
  EXPECT_TRUE(why_kept_steps(snapshot_, pick_, 0)[1].lines.empty()) << "what was protected has no score";
}

TEST_F(CutOnce, AScoreThatIsNoFiniteNumberIsNotCalledNone) {
  auto prompt = std::make_shared<StepRecord>(*lane_.steps[0]);
  HeadRecord& head = prompt->heads[0];
  head.parts = {.pos = {0, 1, 2, 3, 4, 5}, .parts = {{"sum", {5, 0.4f, 0.3f, 0.2f, 0.1f, 0.5f}}}};
  head.score = {kNotAvailable, kNotAvailable, kNotAvailable, kNotAvailable};
  head.events = {gone(1, kNotAvailable), gone(4, kNotAvailable)};
  head.cutoff = kNotAvailable;
  lane_.steps[0] = prompt;
  lane_.score_equation = "log(0 − sum)";
  EXPECT_EQ(why_kept_steps(snapshot_, pick_, 3).at(1).title, "It stays: its score is not a finite number, and there was room");
  EXPECT_EQ(why_steps(snapshot_, pick_, why_of(pick_, 4)).at(0).lines.at(0), "its score is not a finite number");
  EXPECT_EQ(verdict_text(pick_, 4), "evicted in step 0, its score is not a finite number");
  EXPECT_TRUE(why_kept_steps(snapshot_, pick_, 0).at(1).title.starts_with("It was protected"));
  for (const int token : {3, 4}) EXPECT_THAT(why_sentence(snapshot_, pick_, token).answer, HasSubstr("its score is not a finite number"));
}

TEST_F(CutOnce, ATokenWhoseQueryIsObservedIsNotRankedAndThatIsWhyItWent) {
  auto prompt = std::make_shared<StepRecord>(*lane_.steps[0]);
  HeadRecord& head = prompt->heads[0];
  head.parts = {.pos = {0, 1, 2}, .parts = {{"its own", {5, 0.4f, 0.3f}}}};
  head.pos = {5};
  head.score = {kNotAvailable};
  head.events = {gone(0, 5), gone(1, 0.4), gone(2, 0.3), gone(3, kNotAvailable), gone(4, kNotAvailable)};
  head.cutoff = kNotAvailable;
  lane_.steps[0] = prompt;
  EXPECT_EQ(why_steps(snapshot_, pick_, why_of(pick_, 4)).at(0).lines.at(0),
            "not ranked: its query is one of the newest, which are observed and rank the others");
  EXPECT_THAT(verdict_text(pick_, 4), HasSubstr("evicted in step 0, not ranked: its query is one of the newest"));
  EXPECT_THAT(why_sentence(snapshot_, pick_, 4).answer,
              HasSubstr("it is one of the newest, whose queries rank the others, and only 1 of them had room"));
  EXPECT_THAT(why_sentence(snapshot_, pick_, 1).answer, HasSubstr("by its score it was number 2 of 3"));
  head.events[2].score = kNotAvailable;  // a mean with those of the observed
  lane_.steps[0] = std::make_shared<StepRecord>(*prompt);
  EXPECT_EQ(why_steps(snapshot_, pick_, why_of(pick_, 2)).at(0).lines.at(0),
            "ranked last: its score is shared with tokens whose queries are observed, and these have none");
}

TEST_F(CutOnce, TheSelectionOfAnEarlierStepStillExplains) {
  const WhyKept kept = why_kept(pick_, 3);
  EXPECT_EQ(kept.step, 0);
  EXPECT_FALSE(kept.newer);
  EXPECT_EQ(kept.slots_before, 6);
  EXPECT_EQ(kept.slots_after, 4);
  EXPECT_EQ(kept.budget, 4);
  EXPECT_EQ(kept.n_ranked, 4) << "those that went are candidates, too";
  EXPECT_EQ(kept.places, 2);
  EXPECT_EQ(kept.rank, 2) << "of equal scores the lower position comes first";
  EXPECT_EQ(kept.score, 0.3);
  EXPECT_EQ(kept.cutoff, 0.3);
  EXPECT_EQ(kept.gone, 4);
  EXPECT_EQ(kept.alike, (TokenRange{3, 4}));
  const std::vector<WhyStep> steps = why_kept_steps(snapshot_, pick_, 3);
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_EQ(steps[0].title, "Chosen in step 0: 6 slots, 4 allowed");
  EXPECT_EQ(steps[0].lines, (std::vector<std::string>{"4 stayed, 2 went"}));
  EXPECT_EQ(steps[1].title, "It stays: rank 2 of 4 for 2 places, cut-off 0.300");
  ASSERT_EQ(steps[1].lines.size(), 3u);
  EXPECT_EQ(steps[1].lines[0], "its score: 0.300  ·  highest that went, slot 4 «t4»: 0.300");
  EXPECT_EQ(steps[1].lines[1], "of equal scores the lower position stayed");
  EXPECT_EQ(steps[1].lines[2], "tokens 3 to 4 have this very score");
  lane_.score_equation = "largest of its own and 2 neighbours': attention";
  EXPECT_EQ(why_kept_steps(snapshot_, pick_, 3)[1].lines[2], "tokens 3 to 4 have this very score: a maximum over neighbours");
  lane_.score_equation += "; mean of each stretch of 2 tokens";
  EXPECT_EQ(why_kept_steps(snapshot_, pick_, 3)[1].lines[2], "tokens 3 to 4 have this very score") << "of a page all are alike";
}

/// A merger that joins neighbours by their keys does not ask who ranks where: a score above others that stayed explains nothing.
TEST_F(CutOnce, WhatWasJoinedToNeighboursSaysWhichAndNotItsRank) {
  for (int t = 7; t < 9; ++t) snapshot_.tokens.push_back({t, "t" + std::to_string(t)});
  auto prompt = std::make_shared<StepRecord>(*lane_.steps[0]);
  auto next = std::make_shared<StepRecord>(*lane_.steps[1]);
  prompt->position = 7, next->position = 8;
  HeadRecord& head = prompt->heads[0];
  head.pos = {0, 1, 3, 5, 7};
  head.n_slots = 5;
  head.score = {kNotAvailable, 0.9, 0.5, 0.2, kNotAvailable};
  head.cutoff = 0.2;
  head.merge_theta = 0.625;
  const auto merged = [](int pos, double score) {
    Event event = gone(pos, score);
    event.kind = Event::Kind::merge;
    event.into = 3;
    event.w_removed = 0.2, event.w_target = 0.4;
    return event;
  };
  head.events = {merged(2, 0.4), merged(4, 0.3), merged(6, 0.25)};
  next->heads[0].pos = {0, 1, 3, 5, 7, 8};
  next->heads[0].n_slots = 6;
  lane_.steps = {prompt, next};
  lane_.fates = std::make_shared<const LaneFates>(derive_fates(lane_.steps, 1));
  pick_.record = lane_.steps[1].get();
  pick_.values = &pick_.record->heads[0];
  const auto all = [](const std::vector<WhyStep>& steps) {
    std::string out;
    for (const WhyStep& step : steps) {
      out += step.title + "\n";
      for (const std::string& line : step.lines) out += line + "\n";
    }
    return out;
  };
  const std::string went = all(why_steps(snapshot_, pick_, why_of(pick_, 4)));
  EXPECT_NE(went.find("score 0.300, rank 4 of 6: not kept by rank, so its key decides where it goes\n"), std::string::npos) << went;
  EXPECT_NE(went.find("It is one of 4 neighbours joined by their keys, from 2 to 6: they become slot 3 «t3»\n"
                      "each key's cosine to that of slot 6, the last of them, is above 0.625\n"
                      "slot 3 «t3» got most attention of them and stands for all: score 0.500\n"),
            std::string::npos)
      << went;
  EXPECT_NE(went.find("The 4 slots become one by weights that add up to 1\nw₄ = 0.200  (removed)     w₃ = 0.400  (target)\n"),
            std::string::npos)
      << went;
  EXPECT_EQ(went.find("place"), std::string::npos) << went;
  EXPECT_EQ(went.find("lowest kept"), std::string::npos) << went;
  EXPECT_EQ(verdict_text(pick_, 4), "merged into slot 3 in step 0, of a set of 4 neighbours, cosine of keys > 0.625");
  EXPECT_EQ(verdict_text(pick_, 3), "stays: the most attended of a set of 4 neighbours, cosine of keys > 0.625");
  EXPECT_EQ(verdict_text(pick_, 1), "stays: rank 1 of 6");
  EXPECT_EQ(verdict_text(pick_, 5), "stays: no neighbour's key is alike, cosine > 0.625; rank 6 of 6");
  const std::string kept = all(why_kept_steps(snapshot_, pick_, 5));
  EXPECT_NE(kept.find("It stays: no neighbour's key is alike"), std::string::npos) << kept;
  EXPECT_EQ(kept.find("highest that went"), std::string::npos) << kept;
  EXPECT_EQ(
      why_sentence(snapshot_, pick_, 4).answer,
      "It was merged into «t3» in step 0 of layer 0, head 0: it is one of 4 neighbours that were joined by their keys, and «t3» got most attention "
      "of them.");
  EXPECT_EQ(why_sentence(snapshot_, pick_, 5).answer, "In layer 0, head 0 no neighbour's key was alike enough to join it.");

  auto by_distance = std::make_shared<StepRecord>(*prompt);  // each went to its own nearest key
  for (Event& event : by_distance->heads[0].events) event.cos = 0.75;
  lane_.steps[0] = by_distance;
  EXPECT_NE(all(why_steps(snapshot_, pick_, why_of(pick_, 4))).find("rank 4 of 6 for 3 places"), std::string::npos);
}

/// Chunks, two stages, one removal after the other: a policy may choose by more than the score that is shown.
TEST_F(CutOnce, WhereTheScoreAloneDidNotDecideTheRankIsNotCalledTheReason) {
  auto prompt = std::make_shared<StepRecord>(*lane_.steps[0]);
  HeadRecord& head = prompt->heads[0];
  head.events = {gone(1, 0.1), gone(4, 0.8)};
  lane_.steps[0] = prompt;
  lane_.fates = std::make_shared<const LaneFates>(derive_fates(lane_.steps, 1));
  const auto had_to_go = [&](int token) { return why_steps(snapshot_, pick_, why_of(pick_, token)).at(0).lines.at(0); };
  EXPECT_EQ(had_to_go(4),
            "score 0.800, rank 1 of 4 for 2 places, not chosen by this score alone  ·  lowest kept then (step 0), slot 3 «t3»: 0.300");
  EXPECT_EQ(had_to_go(1), "lowest score of 4 ranked: 0.100  ·  lowest kept then (step 0), slot 3 «t3»: 0.300");
  EXPECT_EQ(why_kept_steps(snapshot_, pick_, 3)[1].title,
            "It stays: rank 3 of 4 for 2 places, not chosen by this score alone, cut-off 0.300");
  EXPECT_EQ(verdict_text(pick_, 4), "evicted in step 0: rank 1 of 4 for 2 places, not chosen by this score alone, cut-off 0.300");
  EXPECT_EQ(
      why_sentence(snapshot_, pick_, 4).answer,
      "It left layer 0, head 0 in step 0: by its score it was number 1 of 4, and 2 had a place; but that score alone did not decide.");
  EXPECT_EQ(why_sentence(snapshot_, pick_, 3).answer,
            "In layer 0, head 0 in step 0 by its score it was number 3 of 4, and 2 had a place; but that score alone did not decide.");

  head.events[1].by_hand = true;  // that was no choice of the policy
  EXPECT_FALSE(why_kept(pick_, 3).against_rank);
  EXPECT_FALSE(why_of(pick_, 4).against_rank);
}

TEST_F(CutOnce, ThatTheLowerOfEqualsStaysIsSaidOnlyWhereItDid) {
  const auto says = [](const std::vector<std::string>& lines) { return std::ranges::count(lines, kEqualScores) == 1; };
  lane_.fates = std::make_shared<const LaneFates>(derive_fates(lane_.steps, 1));
  EXPECT_TRUE(says(why_steps(snapshot_, pick_, why_of(pick_, 4))[0].lines));
  EXPECT_TRUE(says(why_kept_steps(snapshot_, pick_, 3)[1].lines));
  auto prompt = std::make_shared<StepRecord>(*lane_.steps[0]);
  prompt->heads[0].events[0].score = 0.3;  // 1 and 4 went, 3 stayed
  lane_.steps[0] = prompt;
  lane_.fates = std::make_shared<const LaneFates>(derive_fates(lane_.steps, 1));
  EXPECT_FALSE(says(why_steps(snapshot_, pick_, why_of(pick_, 4))[0].lines));
  EXPECT_FALSE(says(why_kept_steps(snapshot_, pick_, 3)[1].lines));
}

TEST_F(CutOnce, WhatIsLeftIsNoBudgetWhereNobodySetOne) {
  EXPECT_EQ(why_of(pick_, 4).budget, 4);
  EXPECT_EQ(why_kept(pick_, 2).budget, 4);
  EXPECT_EQ(why_steps(snapshot_, pick_, why_of(pick_, 4))[0].title, "Over budget: 6 slots, 4 allowed");
  EXPECT_TRUE(why_of(pick_, 4).full);
  lane_.slots_asked = -1;  // as where what scores below a threshold goes
  EXPECT_FALSE(why_of(pick_, 4).full) << "no number of places decided";
  EXPECT_EQ(why_kept_steps(snapshot_, pick_, 2)[0].title, "Chosen in step 0: 6 slots, no budget");
  EXPECT_EQ(why_of(pick_, 4).budget, -1);
  EXPECT_EQ(why_kept(pick_, 2).budget, -1);
}

TEST_F(CutOnce, WhatCollectsIsInNoSelectionAndWhatIsSentThereLostIts) {
  auto prompt = std::make_shared<StepRecord>(*lane_.steps[0]);
  HeadRecord& head = prompt->heads[0];
  head.score = {kNotAvailable, 0.5, 0.05, kNotAvailable};
  head.cutoff = 0.5;
  head.residual = {3};  // there before: what it gathered is no rank
  lane_.steps[0] = prompt;
  EXPECT_EQ(rank_of(head, 3).rank, -1);
  EXPECT_EQ(rank_of(head, 2).n, 3);
  EXPECT_EQ(verdict_text(pick_, 3), "stays: the slot that collects what goes");
  EXPECT_EQ(verdict_text(pick_, 2), "stays: rank 1 of 3 for 1 place, cut-off 0.500");
  EXPECT_EQ(why_kept_steps(snapshot_, pick_, 3)[1].title, "It is not ranked: it is the slot that collects what goes");
  EXPECT_EQ(why_sentence(snapshot_, pick_, 3).answer, "In layer 0, head 0 it is not ranked: it is the slot that collects what goes.");
  EXPECT_EQ(cutoff_of(head).unranked, 3);
  EXPECT_TRUE(std::isnan(slot_facts(pick_, 3).score));
  EXPECT_TRUE(std::isnan(head_columns(snapshot_, pick_).score[3])) << "no score of an earlier step either";
  EXPECT_EQ(head_columns(snapshot_, pick_).score[2], 0.5);

  head.to_residual = {3};  // this selection sent it there
  EXPECT_EQ(rank_of(head, 3).rank, 4);
  EXPECT_EQ(verdict_text(pick_, 3), "stays: rank 4 of 4 for 1 place, cut-off 0.500, the slot that collects what goes");
  EXPECT_EQ(verdict_text(pick_, 2), "stays: rank 1 of 4 for 1 place, cut-off 0.500");
  EXPECT_EQ(
      why_sentence(snapshot_, pick_, 3).answer,
      "In layer 0, head 0 by its score it was number 4 of 4, and 1 had a place, so it lost its place in step 0 and became the slot that "
      "collects what goes.");
  EXPECT_FALSE(against_rank(head, 3));
  EXPECT_EQ(why_of(pick_, 4).places, 1);
}

TEST_F(CutOnce, WhatWasProtectedHasNoRank) {
  EXPECT_EQ(why_kept(pick_, 0).protection, "sink");
  EXPECT_EQ(why_kept(pick_, 5).protection, "recent");
  EXPECT_EQ(why_kept(pick_, 5).rank, -1);
  EXPECT_EQ(why_kept_steps(snapshot_, pick_, 0)[1].title, "It was protected (sink) and not ranked");
}

TEST_F(CutOnce, WhatCameAfterwardsWasNotAsked) {
  EXPECT_TRUE(why_kept(pick_, 6).newer);
  EXPECT_EQ(why_kept_steps(snapshot_, pick_, 6)[1].title, "It came in after that: new slots stay until the next selection");
}

TEST_F(CutOnce, ScoresOfTheSelectionStayOnDisplay) {
  const HeadColumns columns = head_columns(snapshot_, pick_);
  EXPECT_EQ(columns.score[2], 0.5);
  EXPECT_EQ(columns.score_gone[2], 1);
  EXPECT_EQ(columns.score[4], 0.3) << "at its removal";
  EXPECT_TRUE(std::isnan(columns.score[0])) << "protected";
  EXPECT_TRUE(std::isnan(columns.score[6])) << "never ranked";
  pick_.step = 0;
  pick_.record = lane_.steps[0].get();
  pick_.values = &pick_.record->heads[0];
  EXPECT_EQ(head_columns(snapshot_, pick_).score_gone[2], 0) << "of this step";
}

TEST_F(CutOnce, WithoutASelectionThereIsNoReason) {
  lane_.steps.erase(lane_.steps.begin());
  pick_.step = 0;
  EXPECT_EQ(why_kept(pick_, 3).step, -1);
  EXPECT_TRUE(why_kept_steps(snapshot_, pick_, 3).empty());
}

TEST_F(CutOnce, WhatWasFittedToASlotIsSaidInLaterStepsToo) {
  EXPECT_TRUE(why_refitted_steps(pick_, 2).empty());
  auto prompt = std::make_shared<StepRecord>(*lane_.steps[0]);
  prompt->heads[0].merges = {
      {.into = 2, .members = {2}, .votes = {1}, .extra = -0.25, .value_change = 0.125, .error_before = 0.5, .error_after = 0.0625},
      {.into = 3, .members = {3, 1}, .votes = {1, 1}, .extra = 0.5}};
  lane_.steps[0] = prompt;
  const std::vector<WhyStep> steps = why_refitted_steps(pick_, 2);
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_EQ(steps[0].title, "Kept, refitted in step 0: bias \u22120.250, value changed by 12.5 %");
  EXPECT_EQ(steps[0].lines,
            (std::vector<std::string>{"error of the head's outputs for the prompt's queries: 50.0 % as evicted alone, 6.2 % refitted"}));
  EXPECT_TRUE(why_refitted_steps(pick_, 3).empty()) << "a merge";
}

/// Past the memory's limit an old step has no list of slots any more: what is known of a token is not taken back.
TEST(FiguresOnly, ATokenThatStandsStillHasItsSlotAndItsVotes) {
  const Snapshot whole = synthetic::make_snapshot();
  Snapshot figures = whole;
  for (LaneSnapshot& lane : figures.lanes)
    for (StepPtr& step : lane.steps) step = std::make_shared<const StepRecord>(figures_of(*step));
  int asked = 0;
  for (int lane = 1; lane < static_cast<int>(whole.lanes.size()); ++lane) {
    Selection at;
    at.lane = lane;
    at.step = 3;
    at.layer = 1;
    at.kv_head = 0;
    const HeadPick of_whole = pick_head(whole, at), pick = pick_head(figures, at);
    for (int t = 0; t <= pick.record->position; ++t) {
      const SlotFacts expected = slot_facts(of_whole, t), got = slot_facts(pick, t);
      EXPECT_EQ(got.pos, expected.pos) << lane << " " << t;
      EXPECT_EQ(got.votes, expected.votes) << lane << " " << t;
      EXPECT_EQ(got.members, expected.members) << lane << " " << t;
      EXPECT_EQ(got.evicted, expected.evicted) << lane << " " << t;
      EXPECT_EQ(has_own_slot(pick, t), has_own_slot(of_whole, t)) << lane << " " << t;
      if (got.pos < 0) continue;
      const WhyKept why = why_kept(pick, got.pos);
      EXPECT_EQ(why.slots_before, why_kept(of_whole, got.pos).slots_before) << lane << " " << t;
      const std::vector<WhyStep> steps = why_kept_steps(figures, pick, got.pos);
      if (why.step < 0 || why.newer) continue;
      ASSERT_EQ(steps.size(), 2u);
      EXPECT_NE(steps[1].title.find("only figures are kept"), std::string::npos) << steps[1].title;
      ++asked;
    }
  }
  EXPECT_GT(asked, 10);
}

/// Whatever the run: a rank by the record's own numbers, counted another way, and a verdict that agrees with where the token is.
TEST(WhyKeptTest, AgreesWithTheRecordForEverySlot) {
  const Snapshot s = synthetic::make_snapshot();
  int n_ranked = 0;
  for (int lane = 1; lane < static_cast<int>(s.lanes.size()); ++lane) {
    const int last = static_cast<int>(s.lanes[static_cast<std::size_t>(lane)].steps.size()) - 1;
    Selection at;
    at.lane = lane;
    at.step = last;
    at.layer = 1;
    at.kv_head = 0;
    const HeadPick pick = pick_head(s, at);
    ASSERT_NE(pick.values, nullptr);
    for (int t = 0; t <= pick.record->position; ++t) {
      const bool stands = std::ranges::binary_search(pick.values->pos, t);
      const std::string verdict = verdict_text(pick, t);
      EXPECT_EQ(verdict.starts_with("stays"), stands) << lane << " " << t << " " << verdict;
      if (!stands) continue;
      const WhyKept kept = why_kept(pick, t);
      if (kept.rank < 0) continue;
      const Cutoff all = cutoff_of(pick.run->steps[static_cast<std::size_t>(kept.step)]->heads[static_cast<std::size_t>(pick.head)]);
      EXPECT_EQ(kept.n_ranked, static_cast<int>(all.ranked.size()));
      const auto higher = std::ranges::count_if(all.ranked, [&](double v) { return v > kept.score; });
      const auto equal = std::ranges::count(all.ranked, kept.score);
      EXPECT_GT(kept.rank, higher);
      EXPECT_LE(kept.rank, higher + equal);
      ++n_ranked;
    }
    const WhyStep others = other_runs_step(s, pick, 3);
    EXPECT_EQ(others.lines.size(), std::min<std::size_t>(s.lanes.size() - 2, 5 + (s.lanes.size() > 7 ? 1 : 0)));
  }
  EXPECT_GT(n_ranked, 10);
}

TEST_F(CutOnce, WhatWentIntoTheHeadsStateSaysSoAndWhatItGets) {
  for (StepPtr& step : lane_.steps) {
    auto changed = std::make_shared<StepRecord>(*step);
    changed->heads[0].pooled_tokens = 2;
    if (changed->step > 0) changed->heads[0].pooled_share = 0.25;
    step = changed;
  }
  pick_.record = lane_.steps[1].get();
  pick_.values = &pick_.record->heads[0];
  const Why why = why_of(pick_, 4);
  std::string text;
  for (const WhyStep& step : why_steps(snapshot_, pick_, why)) {
    text += step.title + "\n";
    for (const std::string& line : step.lines) text += line + "\n";
  }
  EXPECT_NE(text.find("It went into the head's state\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("Nothing takes it over"), std::string::npos) << text;
  EXPECT_EQ(text.find("lost"), std::string::npos) << text;
  EXPECT_NE(text.find("The state stands for 2 tokens now\nthe query of step 1 gave it 25"), std::string::npos) << text;
  EXPECT_NE(head_facts(pick_).find(" · state of 2 evicted tokens: 25"), std::string::npos) << head_facts(pick_);
}

}  // namespace
}  // namespace kvscope::viz
