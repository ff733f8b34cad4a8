// SPDX-License-Identifier: Apache-2.0
// What became of the tokens of an answer, by head, at two moments.
#include "trace/answer_fates.h"

#include <gtest/gtest.h>

namespace kvscope {
namespace {

using Tokens = std::vector<std::uint16_t>;

StepPtr step(int number, int position, std::vector<Event> first, std::vector<Event> second) {
  StepRecord out;
  out.step = number;
  out.position = position;
  out.heads.resize(2);
  out.heads[0].events = std::move(first);
  out.heads[1].events = std::move(second);
  return std::make_shared<const StepRecord>(out);
}

Event evicted(int pos) { return {.kind = Event::Kind::evict, .pos = pos}; }
Event merged(int pos, int into) { return {.kind = Event::Kind::merge, .pos = pos, .into = into}; }

/// One layer, two KV heads, a prompt of five tokens; the answer is 2, 3.
struct TwoHeads {
  explicit TwoHeads(std::vector<StepPtr> steps) {
    snapshot.model.n_layers = 1;
    snapshot.model.n_kv_heads = 2;
    snapshot.n_prompt = 5;
    lane.steps = std::move(steps);
    lane.fates = std::make_shared<const LaneFates>(derive_fates(lane.steps, 2));
  }
  AnswerFates fates(const std::vector<int>& tokens = {2, 3}) const { return answer_fates(snapshot, lane, tokens); }
  Snapshot snapshot;
  LaneSnapshot lane;
};

TEST(AnswerFates, AreThoseOfTheMomentAndNotWhatComesLater) {
  const TwoHeads run({step(0, 4, {evicted(2)}, {merged(3, 1)}), step(1, 5, {evicted(3)}, {}), step(2, 6, {}, {evicted(1)})});
  const AnswerFates got = run.fates();
  EXPECT_TRUE(got.known());
  EXPECT_EQ(got.n_tokens, 2);
  EXPECT_EQ(got.n_heads(), 2u);
  EXPECT_EQ(got.after_prompt.kept, (Tokens{1, 1}));
  EXPECT_EQ(got.after_prompt.merged, (Tokens{0, 1}));
  EXPECT_EQ(got.at_end.kept, (Tokens{0, 1}));
  EXPECT_EQ(got.at_end.merged, (Tokens{0, 0})) << "the slot that stood for it went";
}

TEST(AnswerFates, OfAPromptReadTokenByTokenTheFirstMomentIsItsLastStep) {
  std::vector<StepPtr> steps;
  for (int s = 0; s < 7; ++s) steps.push_back(step(s, s, s == 4 || s == 6 ? std::vector{evicted(s / 2)} : std::vector<Event>(), {}));
  TwoHeads run(std::move(steps));  // 2 goes at the prompt's last step, 3 later
  run.snapshot.prefill_mode = false;
  EXPECT_EQ(run.fates().after_prompt.kept, (Tokens{1, 2}));
  EXPECT_EQ(run.fates().at_end.kept, (Tokens{0, 2}));
}

TEST(AnswerFates, NothingIsKnownWithoutTokensOrFates) {
  TwoHeads run({step(0, 4, {}, {})});
  EXPECT_TRUE(run.fates().known());
  EXPECT_FALSE(run.fates({}).known());
  EXPECT_FALSE(run.fates({5}).known()) << "no token of the run";
  run.snapshot.model.n_kv_heads = 3;
  EXPECT_FALSE(run.fates().known()) << "the heads are others";
  run.snapshot.model.n_kv_heads = 2;
  run.lane.fates.reset();
  EXPECT_FALSE(run.fates().known());
}

}  // namespace
}  // namespace kvscope
