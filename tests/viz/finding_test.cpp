// SPDX-License-Identifier: Apache-2.0
// Which steps of a run say something else, and which lost token explains it.
#include "viz/reduce/finding.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "viz/canvas.h"
#include "viz/draw/format.h"
#include "viz/reduce/compare.h"
#include "viz/synthetic.h"

namespace kvscope::viz {
namespace {

/// The run with exactly these steps changed.
Snapshot with_changed(std::initializer_list<int> steps) {
  Snapshot s = synthetic::make_snapshot();
  for (std::size_t i = 0; i < s.lanes[3].steps.size(); ++i) {
    auto step = std::make_shared<StepRecord>(*s.lanes[3].steps[i]);
    step->top1_same = std::ranges::find(steps, static_cast<int>(i)) == steps.end();
    step->top1_reference = 5;
    step->top1 = step->top1_same ? 5 : 7;
    s.lanes[3].steps[i] = step;
  }
  return s;
}

TEST(FindingTest, GoesFromOneChangedStepToTheNext) {
  const Snapshot s = with_changed({2, 7});
  EXPECT_EQ(next_changed_step(s, s.lanes[3], -1), 2);
  EXPECT_EQ(next_changed_step(s, s.lanes[3], 2), 7);
  EXPECT_EQ(next_changed_step(s, s.lanes[3], 7), -1);
  EXPECT_EQ(next_changed_step(s, s.lanes[3], 1000), -1);
}

TEST(FindingTest, DoesNotCountStepsThatPredictThePrompt) {
  synthetic::Shape shape;
  shape.prefill = false;
  Snapshot s = synthetic::make_snapshot(shape);
  auto step = std::make_shared<StepRecord>(*s.lanes[3].steps[4]);
  step->top1_same = false;
  step->top1 = 7, step->top1_reference = 5;
  s.lanes[3].steps[4] = step;
  EXPECT_NE(next_changed_step(s, s.lanes[3], -1), 4);
  EXPECT_EQ(differing_step_from(s, s.lanes[3], 3, true), 4) << "they are seen in the timeline, and gone to";
  EXPECT_EQ(differing_step_from(s, s.lanes[3], 5, false), 4);
}

TEST(FindingTest, GoesRoundAtTheEnds) {
  const Snapshot s = with_changed({2, 7});
  const LaneSnapshot& lane = s.lanes[3];
  for (const auto from : {changed_step_from, differing_step_from}) {
    EXPECT_EQ(from(s, lane, 2, true), 7);
    EXPECT_EQ(from(s, lane, 7, true), 2);
    EXPECT_EQ(from(s, lane, 1000, true), 2);
    EXPECT_EQ(from(s, lane, -1, true), 2);
    EXPECT_EQ(from(s, lane, 7, false), 2);
    EXPECT_EQ(from(s, lane, 2, false), 7);
    EXPECT_EQ(from(s, lane, 1000, false), 7);
  }
  const Snapshot one = with_changed({4});
  EXPECT_EQ(changed_step_from(one, one.lanes[3], 4, true), 4) << "the only one";
}

TEST(FindingTest, FindsNothingWhereTheChoiceIsTheSame) {
  const Snapshot s = with_changed({2});
  EXPECT_EQ(finding_of(s, s.lanes[3], 3).step, -1);
  EXPECT_EQ(finding_of(s, s.lanes[3], -1).step, -1);
  EXPECT_EQ(finding_of(s, s.lanes[3], 1000).step, -1);
  EXPECT_EQ(finding_sentence(s, s.lanes[3], {}), "");
}

HeadCauses causes_of(const Snapshot& s, std::vector<int> returning) {
  HeadCauses out;
  out.n_heads = out.n_measured = s.model.n_layers * s.model.n_kv_heads;
  out.kl_without = 4.5;
  out.kl.assign(static_cast<std::size_t>(out.n_heads), 4.0);
  out.returns.assign(static_cast<std::size_t>(out.n_heads), 0);
  for (std::size_t i = 0; i < returning.size(); ++i) {
    out.returns[static_cast<std::size_t>(returning[i])] = 1;
    out.kl[static_cast<std::size_t>(returning[i])] = 0.25 + 0.25 * static_cast<double>(i);
  }
  return out;
}

std::string head_name_short(const Loss& loss) { return "L" + std::to_string(loss.layer) + " H" + std::to_string(loss.kv_head); }

/// What a token counts whose own slot the query did not see: nothing of its attention came back, or as far as the head's output moved.
double counted(const LaneSnapshot& lane, const StepRecord& step, std::size_t h, int t) {
  const HeadRecord& head = step.heads[h];
  if (std::ranges::find(head.attended, t) != head.attended.end()) return 0;
  const int slot = slot_seen(lane, step.step, static_cast<int>(h), t);
  const double moved = std::isnan(head.local_rel_l2) ? 1 : std::min(1.0, head.local_rel_l2);
  const auto a = static_cast<double>(head.reference_attention[static_cast<std::size_t>(t)]);
  return slot < 0 ? a : slot == t ? 0 : a * moved;
}

TEST(FindingTest, NamesTheTokenWithTheMostAttentionThatHasNoSlotOfItsOwn) {
  const Snapshot s = with_changed({2});
  const LaneSnapshot& lane = s.lanes[3];
  const Finding f = finding_of(s, lane, 2);
  ASSERT_EQ(f.step, 2);
  double most = 0;
  const StepRecord& step = *lane.steps[2];
  for (std::size_t h = 0; h < step.heads.size(); ++h)
    for (int t = 0; t < static_cast<int>(step.heads[h].reference_attention.size()); ++t) most = std::max(most, counted(lane, step, h, t));
  ASSERT_GT(most, 0.001);
  EXPECT_EQ(counted(lane, step, static_cast<std::size_t>(f.loss.layer * s.model.n_kv_heads + f.loss.kv_head), f.loss.token), most);
  ASSERT_EQ(f.loss.slot, -1);
  const std::string words = finding_sentence(s, lane, f);
  EXPECT_NE(words.find("Largest loss of attention: " + head_name_short(f.loss) + " evicted token " + std::to_string(f.loss.token)),
            std::string::npos)
      << "it need not be the only head that breaks the answer: " << words;
}

/// A merge can be what breaks an answer: it counts by what the head's output moved, and is no eviction.
TEST(FindingTest, NamesAMergedTokenWhereTheHeadsOutputMovedMore) {
  Snapshot s = with_changed({2});
  LaneSnapshot& lane = s.lanes[3];
  auto step = std::make_shared<StepRecord>(*lane.steps[2]);
  int token = -1, slot = -1;
  std::size_t h = 0;
  for (; h < step->heads.size() && token < 0; ++h)
    for (int t = 0; t < s.n_prompt && token < 0; ++t) {
      slot = slot_of(*lane.fates, *step, static_cast<int>(h), t);
      const std::vector<int>& seen = step->heads[h].attended;
      if (slot >= 0 && slot != t && std::ranges::find(seen, t) == seen.end()) token = t;
    }
  ASSERT_GE(token, 0);
  HeadRecord& head = step->heads[--h];
  head.reference_attention[static_cast<std::size_t>(token)] = 0.96875f;
  const auto say = [&](double moved, const CauseWords& causes) {
    head.local_rel_l2 = moved;
    lane.steps[2] = std::make_shared<StepRecord>(*step);
    return finding_sentence(s, lane, finding_of(s, lane, 2, causes), causes);
  };
  const std::string merged =
      fmt::format("merged token {} {} into slot {}, 96.9 % of its attention", token, viz::quoted(token_text(s.tokens, token)), slot);
  const std::string words = say(1.03, {});
  EXPECT_TRUE(words.ends_with(
      fmt::format("Largest attention × local error (up to 100 %): L{} H{} {}, local error 103.0 %.", head.layer, head.kv_head, merged)))
      << words << ": by both it is the largest";
  EXPECT_EQ(say(0.002, {}).find("merged"), std::string::npos) << "what a merge gave back whole breaks nothing";
  const std::string blamed = say(0.5, cause_words(s, causes_of(s, {static_cast<int>(h)})));
  EXPECT_NE(blamed.find(" alone in full this step is right. It " + merged), std::string::npos) << blamed;
}

/// A choice that the full cache hardly made itself is hardly lost.
TEST(FindingTest, SaysWhereTheFullCacheWasUnsureItself) {
  const auto words = [](double first, double second) {
    Snapshot s = with_changed({2});
    auto step = std::make_shared<StepRecord>(*s.lanes[3].steps[2]);
    step->top_tokens = {{}, {}};
    step->top_tokens[0].id = 5, step->top_tokens[0].p_reference = first;
    step->top_tokens[1].id = 7, step->top_tokens[1].p_reference = second;
    s.lanes[3].steps[2] = step;
    return finding_sentence(s, s.lanes[3], finding_of(s, s.lanes[3], 2));
  };
  EXPECT_NE(words(0.036, 0.035).find("; the full cache was unsure itself (p 0.036)"), std::string::npos) << words(0.036, 0.035);
  EXPECT_NE(words(0.45, 0.4).find("unsure itself"), std::string::npos) << "two nearly as likely";
  EXPECT_NE(words(0.09, 0.01).find("unsure itself"), std::string::npos) << "none is likely";
  EXPECT_EQ(words(0.9, 0.05).find("unsure itself"), std::string::npos) << words(0.9, 0.05);
  EXPECT_EQ(words(0.3, 0.2).find("unsure itself"), std::string::npos);
}

TEST(FindingTest, SaysThatTheAnswerIsTheFullCachesWhereItIs) {
  const Snapshot s = with_changed({2});
  const LaneSnapshot& lane = s.lanes[3];
  const std::string words = agreement_at(s, lane, 3).words();
  EXPECT_TRUE(words.starts_with(lane.title + " says " + viz::quoted(text_of_id(s, lane.steps[3]->top1)) + ", as the full cache does: KL " +
                                format_number(lane.steps[3]->kl) + " nats."))
      << words;
  EXPECT_EQ(agreement_at(s, lane, 2).words(), "") << "there it says something else";
  EXPECT_EQ(agreement_at(s, lane, -1).words(), "");
  EXPECT_EQ(agreement_at(s, lane, 1000).words(), "");
}

/// The answer can be back although the head that lost the token has lost it still: others have it.
TEST(FindingTest, SaysWhichHeadsHaveWhatAnotherMisses) {
  Snapshot s = with_changed({});
  LaneSnapshot& lane = s.lanes[3];
  constexpr int kStep = 3;
  auto step = std::make_shared<StepRecord>(*lane.steps[kStep]);
  const auto slot = [&](std::size_t h, int t) { return slot_of(*lane.fates, *step, static_cast<int>(h), t); };
  const auto name = [&](std::size_t h) { return fmt::format("L{} H{}", step->heads[h].layer, step->heads[h].kv_head); };
  int token = -1;
  std::vector<std::size_t> without, with;
  for (int t = 0; t < s.n_prompt && (without.empty() || with.size() < 3); ++t) {
    token = t;
    without.clear(), with.clear();
    for (std::size_t h = 0; h < step->heads.size(); ++h)
      if (const int at = slot(h, t); at < 0 || at == t) (at < 0 ? without : with).push_back(h);
  }
  ASSERT_FALSE(without.empty());
  ASSERT_GE(with.size(), 3u);
  const auto pay = [&](std::size_t h, float share) { step->heads[h].reference_attention[static_cast<std::size_t>(token)] = share; };
  const auto say = [&] {
    lane.steps[kStep] = std::make_shared<StepRecord>(*step);
    return agreement_at(s, lane, kStep).words();
  };
  for (std::size_t h = 0; h < step->heads.size(); ++h) pay(h, 0.01f);
  const std::string alone = say();
  EXPECT_TRUE(alone.ends_with(" nats.")) << "nothing much is missed: " << alone;
  const auto who = [&](std::size_t first) {
    return without.size() == 1   ? name(first)
           : without.size() == 2 ? name(first) + " and " + name(without[first == without[0] ? 1 : 0])
                                 : fmt::format("{} and {} more", name(first), without.size() - 1);
  };
  const auto of = [&](std::size_t first) { return without.size() == 1 ? std::string("its") : name(first) + "'s"; };
  const std::string evicted = fmt::format("{} evicted token {} {}", who(without[0]), token, viz::quoted(token_text(s.tokens, token)));
  const std::string missed = evicted + "; ";
  pay(without[0], 0.9f);
  EXPECT_EQ(say(), alone + " " + evicted + ", 90.0 % of " + of(without[0]) + " attention.")
      << "however little the token means to the others";
  pay(with[1], 0.4f);
  EXPECT_EQ(say(), alone + " " + missed + name(with[1]) + ", which attends to it, has it.");
  pay(with[0], 0.6f);
  EXPECT_EQ(say(), alone + " " + missed + name(with[0]) + " and " + name(with[1]) + ", which attend to it, have it.")
      << "the one to which it means most first";
  for (std::size_t h = 0; h < step->heads.size(); ++h)
    if (const int at = slot(h, token); at >= 0 && at != token) {
      pay(h, 0.3f);
      EXPECT_EQ(say(), alone + " " + missed + name(with[0]) + " and " + name(with[1]) + ", which attend to it, have it, and " + name(h) +
                           " has it merged.");
      pay(h, 0.01f);
    }
  pay(with[2], 0.2f);
  EXPECT_EQ(say(), alone + " " + missed + name(with[0]) + " and 2 more, which attend to it, have it.");
}

TEST(FindingTest, CountsEveryHeadThatIsWithoutATokenWhateverItPaysToIt) {
  Snapshot s = with_changed({});
  LaneSnapshot& lane = s.lanes[3];
  constexpr int kStep = 3, kToken = 1;
  auto step = std::make_shared<StepRecord>(*lane.steps[kStep]);
  auto fates = std::make_shared<LaneFates>(*lane.fates);
  for (std::size_t h = 0; h < step->heads.size(); ++h) {
    std::erase(step->heads[h].attended, kToken);
    FateWriter fate(fates->heads[h], fates->n_tokens);
    fate.left(kToken) = fate.lost(kToken) = 1;
    fate.into(kToken) = -1;
    step->heads[h].reference_attention[kToken] = h == 2 ? 0.9f : 0.01f;
  }
  lane.steps[kStep] = step;
  lane.fates = fates;
  EXPECT_EQ(agreement_at(s, lane, kStep).misses,
            fmt::format("All {} heads evicted token {} {}, 90.0 % of L{} H{}'s attention.", step->heads.size(), kToken,
                        viz::quoted(token_text(s.tokens, kToken)), step->heads[2].layer, step->heads[2].kv_head));
}

/// What a step's compression takes away its query has still seen, as after a token was given back by hand: the head has not missed it, and
/// the share named is that of a head that has.
TEST(FindingTest, DoesNotCountWhatAHeadLosesOnlyAfterTheQuery) {
  Snapshot s = with_changed({});
  LaneSnapshot& lane = s.lanes[3];
  int found = 0;
  for (std::size_t i = 1; i < lane.steps.size() && found < 3; ++i) {
    const StepPtr before = lane.steps[i];
    for (std::size_t h = 0; h < before->heads.size(); ++h) {
      const auto evicts = [](const Event& e) { return e.kind == Event::Kind::evict; };
      const auto event = std::ranges::find_if(before->heads[h].events, evicts);
      if (event == before->heads[h].events.end()) continue;
      const auto gone = [&](std::size_t other) {
        return slot_of(*lane.fates, *lane.steps[i - 1], static_cast<int>(other), event->pos) < 0;
      };
      std::size_t without = 0;
      while (without < before->heads.size() && !gone(without)) ++without;
      if (without == before->heads.size()) continue;
      ++found;
      auto step = std::make_shared<StepRecord>(*before);
      for (std::size_t other = 0; other < step->heads.size(); ++other)
        step->heads[other].reference_attention[static_cast<std::size_t>(event->pos)] = other == h         ? 0.97f
                                                                                       : other == without ? 0.57f
                                                                                                          : 0.01f;
      const auto name = [&](std::size_t of) { return fmt::format("L{} H{}", step->heads[of].layer, step->heads[of].kv_head); };
      const std::string token = fmt::format("token {} {}", event->pos, viz::quoted(token_text(s.tokens, event->pos)));
      lane.steps[i] = step;
      std::vector<std::size_t> all;
      for (std::size_t other = 0; other < step->heads.size(); ++other)
        if (gone(other)) all.push_back(other);
      const std::string who = all.size() == 1   ? name(without)
                              : all.size() == 2 ? name(without) + " and " + name(all[1])
                                                : fmt::format("{} and {} more", name(without), all.size() - 1);
      EXPECT_EQ(agreement_at(s, lane, static_cast<int>(i)).misses,
                fmt::format("{} evicted {}; {}, which attends to it, has it in this step, not after it.", who, token, name(h)));
      auto changed = std::make_shared<StepRecord>(*step);
      changed->top1 = 7, changed->top1_same = false;
      lane.steps[i] = changed;
      const CauseWords causes = cause_words(s, causes_of(s, {static_cast<int>(without), static_cast<int>(h)}));
      const std::string words = finding_sentence(s, lane, finding_of(s, lane, static_cast<int>(i), causes), causes);
      EXPECT_TRUE(words.ends_with(fmt::format("{} evicted {}, 57.0 % of its attention.", name(without), token))) << words;
      lane.steps[i] = before;
      break;
    }
  }
  EXPECT_EQ(found, 3);
}

int index_of(const Snapshot& s, const Loss& loss) { return loss.layer * s.model.n_kv_heads + loss.kv_head; }

TEST(FindingTest, SaysHowManyHeadsAreEnoughByThemselves) {
  const Snapshot s = with_changed({2});
  const int per = s.model.n_kv_heads, n = s.model.n_layers * per;
  EXPECT_EQ(cause_words(s, causes_of(s, {})).sentence, "With no single head in full this step is right, L0 H0 gains most.");
  HeadCauses useless = causes_of(s, {});
  useless.kl.assign(useless.kl.size(), useless.kl_without);
  EXPECT_EQ(cause_words(s, useless).sentence, "With no single head in full this step is right.");
  EXPECT_EQ(cause_words(s, useless).most, -1);
  EXPECT_EQ(cause_words(s, causes_of(s, {per + 1})).sentence, "With L1 H1 alone in full this step is right.");
  const CauseWords two = cause_words(s, causes_of(s, {per + 1, 0}));
  EXPECT_EQ(two.brief, "L1 H1 or L0 H0");
  EXPECT_EQ(two.sentence, "With L1 H1 or L0 H0 in full this step is right.");
  EXPECT_EQ(two.whole, "Each of these makes this step's token the full cache's again, if only it keeps its full cache; " +
                           std::to_string(n - 2) + " of " + std::to_string(n) +
                           " heads do not:\nL1 H1: KL 4.50 → 0.250 nats\nL0 H0: KL 4.50 → 0.500 nats");
  const CauseWords three = cause_words(s, causes_of(s, {per + 1, 0, 1}));
  EXPECT_EQ(three.brief, "L1 H1 or 2 others");
  EXPECT_EQ(three.sentence, "With L1 H1, L0 H0 or L0 H1 in full this step is right.");
  EXPECT_EQ(cause_words(s, causes_of(s, {per + 1, 0, 1, 2})).sentence, "With L1 H1 or any of 3 others in full this step is right.");
}

/// What repairs the step that is shown need not repair the others of the run.
TEST(FindingTest, SaysWhichHeadsRepairAllSteps) {
  const Snapshot s = with_changed({2});
  const auto all_of = [&](int n_steps, std::vector<int> right) {
    HeadCauses of = causes_of(s, {1, 0});
    of.n_steps = n_steps;
    of.n_right.assign(of.kl.size(), 12);
    for (std::size_t h = 0; h < right.size(); ++h) of.n_right[h] = right[h];
    return cause_words(s, of);
  };
  EXPECT_EQ(cause_words(s, causes_of(s, {1, 0})).all, "") << "not measured";
  EXPECT_EQ(all_of(1, {1, 1}).all, "") << "there is no other step";
  EXPECT_EQ(all_of(12, {12, 12}).all, "all 12 steps, too");
  EXPECT_EQ(all_of(12, {12, 11}).all, "all 12 steps: L0 H0") << "the others that are right in all do not bring this answer back";
  EXPECT_EQ(all_of(12, {11, 11}).all, "all 12 steps: none");
  HeadCauses of = causes_of(s, {1, 0});
  of.n_steps = 12;
  of.n_right.assign(of.kl.size(), 11);
  of.word = "«913»";
  of.word_right.assign(of.kl.size(), 0);
  EXPECT_EQ(cause_words(s, of).all, "«913»: none") << "of a word's part the word is asked";
  of.word_right[0] = 1;
  EXPECT_EQ(cause_words(s, of).all, "«913»: L0 H0") << "though it repairs 11 of 12 steps only";
  EXPECT_NE(all_of(12, {12, 11}).whole.find("L0 H1: KL 4.50 → 0.250 nats, 11 of 12 steps right"), std::string::npos);
}

/// Eight heads may be enough where seven of them only tip a tie.
TEST(FindingTest, NamesTheLossOfWhoGainsMostOfThoseThatAreEnough) {
  const Snapshot s = with_changed({2});
  const LaneSnapshot& lane = s.lanes[3];
  const int most = index_of(s, finding_of(s, lane, 2).loss), n_heads = s.model.n_layers * s.model.n_kv_heads;
  int n = 0;
  for (int other = 0; other < n_heads; ++other) {
    if (other == most || largest_change_at(s, lane, 2, std::vector<int>{other}).step < 0) continue;
    EXPECT_EQ(index_of(s, finding_of(s, lane, 2, cause_words(s, causes_of(s, {other, most}))).loss), other);
    EXPECT_EQ(index_of(s, finding_of(s, lane, 2, cause_words(s, causes_of(s, {most, other}))).loss), most);
    ++n;
  }
  EXPECT_GT(n, 0);
}

/// No slot of this head stood for the token when the step was answered.
bool lost_in(const LaneSnapshot& lane, int step, int head, int token) { return slot_seen(lane, step, head, token) < 0; }

/// Who misses most need not be who breaks the answer: once that is measured, the token named is one that a head of these lost, and it is
/// the one to which "Why evicted?" goes.
TEST(FindingTest, NamesTheLossOfAHeadThatBringsTheAnswerBack) {
  const Snapshot s = with_changed({2});
  const LaneSnapshot& lane = s.lanes[3];
  const Finding f = finding_of(s, lane, 2);
  ASSERT_GE(f.loss.step, 0);
  const int most = index_of(s, f.loss), n_heads = s.model.n_layers * s.model.n_kv_heads;
  int n_both = 0, n_one = 0;
  for (int i = 1; i < n_heads; ++i) {
    const int other = (most + i) % n_heads, third = (most + i + 1) % n_heads;
    for (const std::vector<int>& heads : {std::vector<int>{other}, {other, third}, {most, other}}) {
      if (heads.back() == most) continue;
      const CauseWords causes = cause_words(s, causes_of(s, heads));
      const Finding of = finding_of(s, lane, 2, causes);
      ASSERT_GE(of.loss.step, 0);
      const std::string words = finding_sentence(s, lane, of, causes), name = head_name_short(of.loss);
      EXPECT_NE(words.find(". " + causes.sentence + " "), std::string::npos) << words;
      EXPECT_NE(words.find("evicted token " + std::to_string(of.loss.token)), std::string::npos) << words;
      if (std::ranges::find(heads, index_of(s, of.loss)) == heads.end()) {  // these lost nothing worth speaking of
        EXPECT_EQ(index_of(s, of.loss), most);
        EXPECT_NE(words.find("Largest loss of attention: " + name + " evicted"), std::string::npos) << words;
        continue;
      }
      const bool all = std::ranges::all_of(heads, [&](int h) { return lost_in(lane, 2, h, of.loss.token); });
      if (heads.size() == 1) {
        EXPECT_NE(words.find(causes.sentence + " It evicted"), std::string::npos) << words;
      } else if (all) {
        ++n_both;
        EXPECT_NE(words.find("Both evicted"), std::string::npos) << words;
        EXPECT_TRUE(words.ends_with("of " + name + "'s attention.")) << words;
        for (const int h : heads) {  // the share that is said is that of the head on screen
          const double own = lane.steps[2]->heads[static_cast<std::size_t>(h)].reference_attention[static_cast<std::size_t>(of.loss.token)];
          const std::string seen = finding_sentence(s, lane, of, causes, h);
          EXPECT_TRUE(seen.ends_with(
              fmt::format("{} of L{} H{}'s attention.", format_percent(own), h / s.model.n_kv_heads, h % s.model.n_kv_heads)))
              << seen;
        }
      } else {
        ++n_one;
        EXPECT_NE(words.find(". " + name + " evicted"), std::string::npos) << words;
      }
    }
  }
  EXPECT_GT(n_both, 0);
  EXPECT_GT(n_one, 0);
  EXPECT_EQ(finding_sentence(s, lane, f).find("alone"), std::string::npos) << "nobody has asked";
}

TEST(FindingTest, NamesTheLossOfWhoGainsMostWhereNoHeadIsEnough) {
  const Snapshot s = with_changed({2});
  const LaneSnapshot& lane = s.lanes[3];
  const Finding f = finding_of(s, lane, 2);
  const int n_heads = s.model.n_layers * s.model.n_kv_heads;
  HeadCauses none = causes_of(s, {});
  for (int h = 0; h < n_heads; ++h) {
    none.kl.assign(none.kl.size(), 4.0);
    none.kl[static_cast<std::size_t>(h)] = 1;
    const CauseWords causes = cause_words(s, none);
    ASSERT_EQ(causes.most, h);
    FindingOnce once;
    EXPECT_EQ(once.of(s, lane, 2).loss.token, f.loss.token);
    const Finding of = once.of(s, lane, 2, causes);
    const std::string words = finding_sentence(s, lane, of, causes);
    const bool own = largest_loss_at(s, lane, 2, std::vector<int>{h}).step >= 0;
    EXPECT_EQ(index_of(s, of.loss), own ? h : index_of(s, f.loss));
    EXPECT_NE(words.find(own ? "gains most. It evicted" : "Largest loss of attention: "), std::string::npos) << words;
  }
}

TEST(FindingTest, SaysNothingOfHeadsBeforeAllAreMeasured) {
  const Snapshot s = with_changed({2});
  HeadCauses causes = causes_of(s, {0});
  causes.n_measured -= 1;
  EXPECT_EQ(cause_words(s, causes).brief, "");
  EXPECT_EQ(cause_words(s, {}).brief, "");
  causes = causes_of(s, {0});
  causes.kl.back() = kNotAvailable;  // a policy that removes whatever the budget is
  EXPECT_EQ(cause_words(s, causes).brief, "");
}

}  // namespace
}  // namespace kvscope::viz
