// SPDX-License-Identifier: Apache-2.0
#include "snapshot/warnings.h"

#include <gtest/gtest.h>

#include <limits>

namespace kvscope {
namespace {

using Kind = LaneWarning::Kind;

/// One head whose slots are these after the step; `gone` went in it.
StepRecord step_of(int position, std::vector<int> pos, std::vector<int> gone, int recent = 1, double cutoff = 0.5) {
  StepRecord step;
  step.position = position;
  HeadRecord head;
  head.n_slots = static_cast<int>(pos.size());
  head.pos = std::move(pos);
  head.votes.assign(head.pos.size(), 1);
  head.score.assign(head.pos.size(), 0.5);
  head.recent = recent;
  head.cutoff = cutoff;
  for (const int p : gone) head.events.push_back({.pos = p});
  step.heads = {head};
  return step;
}

std::vector<LaneWarning> after(const std::vector<StepRecord>& steps, const WarningFacts& facts) {
  WarningWatch watch;
  for (const StepRecord& s : steps) watch.add(s);
  EXPECT_EQ(watch.n_steps(), static_cast<int>(steps.size()));
  return watch.warnings(facts);
}

TEST(Warnings, NothingWasRemovedWhereTheBudgetWasNeverReached) {
  const auto w = after({step_of(3, {0, 1, 2, 3}, {})}, {.slots_requested = 10, .slots_asked = 10});
  ASSERT_EQ(w.size(), 1u);
  EXPECT_EQ(w[0].kind, Kind::nothing_removed);
  EXPECT_EQ(text_of(w[0]), "nothing was removed: 4 tokens, 10 slots");
  EXPECT_TRUE(after({step_of(3, {0, 1, 2, 3}, {})}, {}).empty()) << "no budget, nothing to say";
  EXPECT_TRUE(after({}, {.slots_asked = 10}).empty());
}

TEST(Warnings, OnlyTheNewestTokenIsLeft) {
  const auto w = after({step_of(4, {4}, {0, 1, 2, 3})}, {.slots_requested = 1, .slots_asked = 1});
  ASSERT_EQ(w.size(), 1u);
  EXPECT_EQ(w[0].kind, Kind::only_newest_left);
  EXPECT_EQ(text_of(w[0]), "only the newest token is left in 1 of 1 heads");
}

TEST(Warnings, AKeptSetThatSendsEveryNewTokenAwayIsFrozen) {
  std::vector<StepRecord> steps = {step_of(5, {0, 1, 2, 5}, {3, 4})};
  for (int t = 6; t < 6 + WarningWatch::kFreeze; ++t) {
    EXPECT_TRUE(after(steps, {.slots_requested = 4, .slots_asked = 4}).empty()) << t;
    steps.push_back(step_of(t, {0, 1, 2, t}, {t - 1}));
  }
  const auto w = after(steps, {.slots_requested = 4, .slots_asked = 4});
  ASSERT_EQ(w.size(), 1u);
  EXPECT_EQ(w[0].kind, Kind::frozen);
  EXPECT_EQ(w[0].got, WarningWatch::kFreeze);
  const int t = steps.back().position + 1;
  steps.push_back(step_of(t, {0, 2, t - 1, t}, {1}));  // it moves again
  EXPECT_TRUE(after(steps, {.slots_requested = 4, .slots_asked = 4}).empty());
}

TEST(Warnings, WherePositionAloneDecidesNothingIsFrozen) {
  std::vector<StepRecord> steps;
  for (int t = 6; t < 60; ++t) steps.push_back(step_of(t, {0, 1, t - 1, t}, {t - 2}, 2, kNotAvailable));
  EXPECT_TRUE(after(steps, {.slots_requested = 4, .slots_asked = 4}).empty());
}

TEST(Warnings, SlotsThatTakeOthersInAreNotFrozen) {
  std::vector<StepRecord> steps;
  for (int t = 6; t < 60; ++t) {
    steps.push_back(step_of(t, {0, 1, 2, t}, {t - 1}));
    steps.back().heads[0].votes[1] = t;
  }
  EXPECT_TRUE(after(steps, {.slots_requested = 4, .slots_asked = 4}).empty());
}

TEST(Warnings, RequestedAndRealisedBudget) {
  const auto raised = after({step_of(9, {0, 1, 2, 9}, {3})}, {.slots_requested = 2, .slots_asked = 4});
  ASSERT_EQ(raised.size(), 1u);
  EXPECT_EQ(text_of(raised[0]), "budget raised from 2 to 4 slots, to hold what is protected and what needs room beside it");
  const auto missed = after({step_of(9, {0, 1, 2, 8, 9}, {3})}, {.slots_requested = 4, .slots_asked = 4});
  ASSERT_EQ(missed.size(), 1u);
  EXPECT_EQ(text_of(missed[0]), "5.0 slots per head on average, for a budget of 4");
}

TEST(Warnings, NumbersThatAreNone) {
  StepRecord step = step_of(9, {0, 1, 2, 9}, {3, 4});
  step.heads[0].events[0] = {.kind = Event::Kind::merge, .pos = 3, .into = 2, .w_removed = kNotAvailable, .w_target = 1, .fallback = true};
  const auto w = after({step}, {.slots_requested = 4, .slots_asked = 4, .nan_scores = 7, .infinite_scores = 1});
  ASSERT_EQ(w.size(), 3u);
  EXPECT_EQ(text_of(w[0]), "1 merge fell back to another form");
  EXPECT_EQ(text_of(w[1]), "7 scores were not a number and ranked last");
  EXPECT_EQ(text_of(w[2]), "2 scores or merge weights are not finite");
}

TEST(Warnings, SaysWhatWasDroppedForWantOfMemory) {
  EXPECT_EQ(text_of({.kind = Kind::figures_only, .count = 311, .got = 2147483648.0}),
            "steps 0-310 keep only figures: recorded results reached 2.0 GiB");
}

TEST(Warnings, WhatIsStoredInMoreIsNotSaidToStandInFull) {
  const auto said = [](double bytes) { return text_of({.kind = Kind::as_if_stored, .asked = 4096, .got = bytes}); };
  EXPECT_EQ(said(2048), "computed as if stored: 2.0 KiB; this program holds the numbers that would be read back in full");
  EXPECT_EQ(said(4096), "nothing is stored smaller: all of this text, 4.0 KiB, is among what stays in full");
  EXPECT_EQ(said(5120), "nothing is stored smaller: so stored this text takes 5.0 KiB, in full 4.0 KiB");
}

TEST(Warnings, KindsHaveNamesThatReadBack) {
  for (int k = 0; k <= static_cast<int>(Kind::window_decides); ++k) {
    Kind read = Kind::nothing_removed;
    EXPECT_TRUE(parse_kind(name_of(static_cast<Kind>(k)), read));
    EXPECT_EQ(read, static_cast<Kind>(k));
  }
  Kind read = Kind::frozen;
  EXPECT_FALSE(parse_kind("anything", read));
}

TEST(Warnings, WhatCameAfterTheLastCompressionIsNoMissedBudget) {
  const auto w = after({step_of(5, {0, 1, 4, 5}, {2, 3}), step_of(6, {0, 1, 4, 5, 6}, {}), step_of(7, {0, 1, 4, 5, 6, 7}, {})},
                       {.slots_requested = 4, .slots_asked = 4});
  ASSERT_EQ(w.size(), 1u);
  EXPECT_EQ(w[0].kind, Kind::budget_missed);
  EXPECT_EQ(text_of(w[0]), "6 slots per head: the budget of 4, and 2 tokens after the last compression");
}

TEST(Warnings, EditsThatChangedNothingAreCountedUpToTheLastStep) {
  StepRecord step = step_of(4, {0, 1, 3, 4}, {2});
  step.step = 2;
  step.heads[0].events[0].by_hand = true;
  WarningWatch watch;
  watch.add(step);
  ASSERT_EQ(watch.by_hand(2).size(), 1u);
  ASSERT_EQ(watch.by_hand(2)[0].events.size(), 1u);
  EXPECT_EQ(watch.by_hand(2)[0].events[0].pos, 2);
  EXPECT_TRUE(watch.by_hand(1).empty());
  const auto w = watch.warnings({.edits = 3, .edits_idle = 2});
  ASSERT_EQ(w.size(), 1u);
  EXPECT_EQ(w[0].kind, Kind::edits_idle);
  EXPECT_EQ(text_of(w[0]),
            "2 of 3 edits by hand changed nothing up to step 2: the step or token has not come, or there was nothing to change");
  EXPECT_TRUE(watch.warnings({.edits = 3}).empty());
}

TEST(Warnings, WhatIsSetForLayersWithWindowsIsSaid) {
  WarningWatch watch;
  watch.add(step_of(4, {0, 1, 3, 4}, {2}));
  const auto w = watch.warnings({.layers_set = 2, .layers_with_window = 1});
  ASSERT_EQ(w.size(), 1u);
  EXPECT_EQ(w[0].kind, Kind::window_decides);
  EXPECT_EQ(text_of(w[0]), "what is set by hand for 1 of 2 layers does nothing: the model's own window decides there what stays");
  EXPECT_TRUE(watch.warnings({.layers_set = 2}).empty());
}

}  // namespace
}  // namespace kvscope
