// SPDX-License-Identifier: Apache-2.0
// What the comparison counts and prints, without a canvas.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <numeric>
#include <set>
#include <utility>

#include "viz/draw/draw.h"
#include "viz/draw/format.h"
#include "viz/lineage_fixture.h"
#include "viz/plain_token_count.h"
#include "viz/reduce/compare.h"
#include "viz/reduce/difference.h"
#include "viz/reduce/run_look.h"
#include "viz/synthetic.h"
#include "viz/views/compare/compare_metrics.h"

namespace kvscope::viz {
namespace {

using namespace testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// A lane of prompt 3 (prefill) and three decode steps with KL 0 (step 0), 0.5, 1.5 and 4.
LaneSnapshot lane_of_four() {
  LaneSnapshot lane;
  const double kl[] = {9, 0.5, 1.5, 4};
  for (int s = 0; s < 4; ++s) {
    auto r = std::make_shared<StepRecord>();
    r->step = s;
    r->position = 2 + s;
    r->kl = kl[s];
    r->top1 = 10 + s;
    r->top1_reference = s == 1 ? 99 : 10 + s;
    r->top1_same = s != 1;
    r->nll = s == 3 ? kNotAvailable : 0.25;
    r->next_token = s == 3 ? -1 : 40 + s;
    for (int h = 0; h < 2; ++h) {
      HeadRecord head;
      head.pos.assign(static_cast<std::size_t>(3 + h), 0);
      head.n_slots = 3 + h;
      head.attention_loss = h == 0 ? 0.4 : kNotAvailable;
      r->heads.push_back(head);
    }
    lane.steps.push_back(r);
  }
  lane.bytes = 2048;
  lane.kv_bytes = 700;  // now, with twice the slots of the first step
  lane.slots = 7;
  return lane;
}

/// A run with that lane alone, in prefill mode.
Snapshot run_of_four() {
  Snapshot s;
  s.n_prompt = 3;
  s.lanes = {lane_of_four()};
  return s;
}

TEST(RunColours, NoOtherRunLooksLikeTheReference) {
  for (int lane = 1; lane < 20; ++lane) EXPECT_NE(run_of_lane(lane), run_of_lane(0)) << lane;
  for (int lane = 1; lane <= 5; ++lane)
    for (int other = 1; other < lane; ++other) EXPECT_NE(run_of_lane(lane), run_of_lane(other));
}

TEST(RunColours, NoTwoRunsLookAlike) {
  for (const Theme& theme : {dark_theme(), light_theme()})
    for (int lane = 1; lane < 11; ++lane)
      for (int other = 0; other < lane; ++other)
        EXPECT_FALSE(lane_colour(theme, lane).value == lane_colour(theme, other).value) << lane << " and " << other;
  std::set<std::pair<int, int>> seen;
  for (int lane = 0; lane < 30; ++lane) EXPECT_TRUE(seen.emplace(run_of_lane(lane), marker_of_lane(lane) % 6).second) << lane;
}

TEST(LaneMetrics, MeanKlLeavesOutThePromptsStep) {
  const LaneMetrics m = lane_metrics(run_of_four(), lane_of_four(), -1, 3);
  EXPECT_EQ(m.step, 3);
  EXPECT_EQ(m.means.n_steps, 3);
  EXPECT_EQ(m.means.first, 1);
  EXPECT_DOUBLE_EQ(m.means.kl.mean(), 2);  // (0.5 + 1.5 + 4) / 3
  EXPECT_DOUBLE_EQ(m.kl, 4);
  EXPECT_EQ(m.means.top1_same, 2);
}

TEST(LaneMetrics, TheAnswerStartsAtTheLastPromptTokenAndMarksWhatDiffers) {
  const LaneMetrics m = lane_metrics(run_of_four(), lane_of_four(), 0, 3);
  ASSERT_EQ(m.answer.size(), 3u);
  EXPECT_EQ(m.answer[0].id, 10);
  EXPECT_TRUE(m.answer[0].same);
  EXPECT_EQ(m.answer[1].id, 11);
  EXPECT_FALSE(m.answer[1].same);
  EXPECT_TRUE(m.answer[2].same);
}

TEST(LaneMetrics, AnswersBeginBehindABlankThatAllLanesAgreeOn) {
  Snapshot snapshot;
  auto vocabulary = std::make_shared<std::vector<TokenInfo>>(4);
  (*vocabulary)[0] = {.id = 0, .bytes = " "};
  for (int i = 1; i < 4; ++i) (*vocabulary)[static_cast<std::size_t>(i)] = {.id = i, .bytes = std::to_string(i)};
  snapshot.vocabulary = vocabulary;
  const auto ids = [](const LaneMetrics& lane) {
    std::vector<int> out;
    for (const AnswerToken& token : lane.answer) out.push_back(token.id);
    return out;
  };
  std::vector<LaneMetrics> lanes(2);
  lanes[0].answer = {{0, 0, true}, {1, 1, true}, {2, 2, true}, {3, 3, true}};
  lanes[1].answer = {{0, 0, true}, {1, 3, false}, {2, 2, true}, {3, 3, true}};
  std::vector<LaneMetrics> differ = lanes;
  fit_answers(lanes, snapshot, 3);
  EXPECT_EQ(ids(lanes[0]), (std::vector{1, 2, 3}));
  EXPECT_EQ(ids(lanes[1]), (std::vector{3, 2, 3}));
  differ[1].answer[0] = {0, 2, false};
  fit_answers(differ, snapshot, 3);
  EXPECT_EQ(ids(differ[0]), (std::vector{0, 1, 2})) << "where they differ at once, the blank says so";
  std::vector<LaneMetrics> late(2);
  late[0].answer = {{0, 0, true}, {1, 1, true}, {2, 2, true}, {3, 3, true}, {4, 1, true}, {5, 2, true}};
  late[1].answer = {{0, 0, true}, {1, 1, true}, {2, 2, true}, {3, 3, true}, {4, 2, false}};
  fit_answers(late, snapshot, 3);
  EXPECT_EQ(ids(late[0]), (std::vector{2, 3, 1})) << "the token that differs must not be the one that is cut";
  EXPECT_EQ(ids(late[1]), (std::vector{2, 3, 2}));
  EXPECT_EQ(late[0].answer_before, 1);
  EXPECT_EQ(late[1].answer_before, 1);
  late[1].step = 4;
  EXPECT_EQ(metric_text(snapshot, late[1], MetricColumn::Kind::answer), "… 2 3 2*");
}

/// Of 58 the full stop is the mistake of 5826.
TEST(LaneMetrics, ALectureShowsTheWordThatWasAskedForAndWhereARunEndsIt) {
  Snapshot snapshot;
  auto vocabulary = std::make_shared<std::vector<TokenInfo>>();
  for (const char* text : {"4", "8", "2", ".", " It"}) vocabulary->push_back({.id = static_cast<int>(vocabulary->size()), .bytes = text});
  snapshot.vocabulary = vocabulary;
  const auto size = [](const LaneMetrics& lane) { return lane.answer.size(); };
  std::vector<LaneMetrics> lanes(2);
  lanes[0].answer = {{0, 0, true}, {1, 1, true}, {2, 2, true}, {3, 3, true}, {4, 4, true}};
  lanes[1].answer = {{0, 0, true}, {1, 1, true}, {2, 3, false}, {3, 4, false}, {4, 4, true}};
  std::vector<LaneMetrics> alike = lanes;
  cut_to_word(lanes, snapshot);
  EXPECT_EQ(size(lanes[0]), 3u);
  EXPECT_EQ(size(lanes[1]), 3u);
  EXPECT_FALSE(lanes[1].answer.back().same) << "a number that ends too early is a wrong one, and is seen";
  alike[1].answer[2] = {2, 2, true};
  cut_to_word(alike, snapshot);
  EXPECT_EQ(size(alike[1]), 3u) << "nothing of what follows";
}

TEST(LaneMetrics, MeansAreOverWhatWasMeasured) {
  const LaneMetrics m = lane_metrics(run_of_four(), lane_of_four(), 3, 3);
  EXPECT_DOUBLE_EQ(m.attention_loss, 0.4);
  EXPECT_DOUBLE_EQ(m.slots, 3.5);
  EXPECT_TRUE(std::isnan(m.nll));
  EXPECT_DOUBLE_EQ(m.bytes, 350) << "of the slots after the step shown";
  EXPECT_DOUBLE_EQ(m.means.allocated, 2048);
}

TEST(LaneMetrics, ALaneWithoutStepsHasNoNumbers) {
  const LaneMetrics m = lane_metrics(run_of_four(), LaneSnapshot{}, -1, 3);
  EXPECT_EQ(m.step, -1);
  EXPECT_TRUE(std::isnan(m.kl) && std::isnan(m.means.kl.mean()) && std::isnan(m.slots) && std::isnan(m.bytes));
  EXPECT_EQ(metric_text(Snapshot{}, m, MetricColumn::Kind::kl), "–");
}

TEST(MetricText, PrintsNatsAndGapsNeverAZeroForWhatIsMissing) {
  LaneMetrics m;
  m.step = 1;
  m.kl = 2.8284;
  EXPECT_EQ(metric_text({}, m, MetricColumn::Kind::kl), "2.83");
  m.kl = 0.0001;
  EXPECT_EQ(metric_text({}, m, MetricColumn::Kind::kl), "0.000100");
  m.kl = 0.000923;
  EXPECT_EQ(metric_text({}, m, MetricColumn::Kind::kl), "0.000923") << "as the other views, which print its digits";
  m.kl = 0.00023456789012;
  EXPECT_EQ(std::stod(metric_plain({}, m, MetricColumn::Kind::kl)), m.kl) << "a file has all of them";
  m.bytes = 1048576;
  EXPECT_EQ(metric_plain({}, m, MetricColumn::Kind::bytes), "1048576");
  EXPECT_EQ(metric_plain({}, m, MetricColumn::Kind::nll), "n/a");
  EXPECT_EQ(metric_title({MetricColumn::Kind::mean_kl, "mean KL", "steps 1–12", 78}), "mean KL, nats (steps 1–12)");
  m.kl = 0;
  EXPECT_EQ(metric_text({}, m, MetricColumn::Kind::kl), "0");
  EXPECT_EQ(metric_text({}, m, MetricColumn::Kind::nll), "n/a");
  EXPECT_EQ(metric_text({}, m, MetricColumn::Kind::mean_kl), "n/a");
  EXPECT_EQ(metric_text({}, m, MetricColumn::Kind::top1), "n/a");
  EXPECT_EQ(metric_text({}, m, MetricColumn::Kind::attention), "n/a");
  m.attention_loss = 0.362;
  EXPECT_EQ(metric_text({}, m, MetricColumn::Kind::attention), "36.2 %");
}

/// A mean over steps stands beside the slots of one of them.
TEST(MetricLines, SayThatARunGrows) {
  const Snapshot snapshot = synthetic::make_snapshot();
  LaneMetrics m = lane_metrics(snapshot, snapshot.lanes[1], -1, 3);
  for (const auto kind : {MetricColumn::Kind::mean_kl, MetricColumn::Kind::slots}) {
    m.slots = 13;
    m.means.slots = 24;
    const auto lines = metric_lines(snapshot, 1, m, {kind, "", "", 0});
    EXPECT_THAT(lines, ::testing::Contains(::testing::StartsWith("slots per head: 13 in step ")));
    EXPECT_THAT(lines, ::testing::Contains(::testing::HasSubstr("24 behind the last")));
    m.slots = 24;
    EXPECT_THAT(metric_lines(snapshot, 1, m, {kind, "", "", 0}),
                ::testing::Not(::testing::Contains(::testing::StartsWith("slots per head: "))));
  }
}

TEST(MetricLines, SayThatTheFirstNextTokenIsNotCounted) {
  const Snapshot snapshot = synthetic::make_snapshot();
  const auto said = [&](const std::optional<StepRange>& range) {
    const LaneMetrics m = lane_metrics(snapshot, snapshot.lanes[1], -1, 3, range);
    return metric_lines(snapshot, 1, m, {MetricColumn::Kind::top1, "", "", 0}).back();
  };
  EXPECT_NE(said({}).find("first next token"), std::string::npos) << said({});
  EXPECT_EQ(said(StepRange{0, 2}).find("first next token"), std::string::npos) << "a range counts every step of it";
}

TEST(MetricColumns, GiveWayInOrderAndKeepTheDivergence) {
  const Snapshot snapshot = synthetic::make_snapshot();
  const std::vector<LaneMetrics> lanes = {lane_metrics(snapshot, snapshot.lanes[0], -1, 3)};
  EXPECT_EQ(metric_columns(snapshot, lanes, 2000, 1).size(), 10u);
  const auto few = metric_columns(snapshot, lanes, 260, 1);
  EXPECT_LE(total_width(few, 1), 260);
  const auto more = metric_columns(snapshot, lanes, 320, 1);
  const auto has = [&more](MetricColumn::Kind kind) { return std::ranges::count(more, kind, &MetricColumn::kind) > 0; };
  EXPECT_TRUE(has(MetricColumn::Kind::slots)) << "whether it is the same budget";
  EXPECT_FALSE(has(MetricColumn::Kind::attention));
  const auto one = metric_columns(snapshot, lanes, 10, 1);
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(one[0].kind, MetricColumn::Kind::kl);
  const auto sorted = metric_columns(snapshot, lanes, 10, 1, {MetricSet::quality, MetricColumn::Kind::policy});
  ASSERT_EQ(sorted.size(), 2u) << "and that by which the runs are sorted";
  EXPECT_EQ(sorted[1].kind, MetricColumn::Kind::policy);
}

TEST(LaneMetricsRow, WhatThePolicyItselfTakesIsPerStep) {
  Snapshot snapshot = synthetic::make_snapshot();
  LaneSnapshot& lane = snapshot.lanes[1];
  double ms = 0;
  for (StepPtr& step : lane.steps) {
    auto copy = std::make_shared<StepRecord>(*step);
    copy->ms = 4;
    ms += 4;
    step = copy;
  }
  lane.compress_ms = 0.5 * static_cast<double>(lane.steps.size());
  const LaneMetrics m = lane_metrics(snapshot, lane, -1, 3);
  EXPECT_DOUBLE_EQ(m.work.ms, 0.5);
  EXPECT_TRUE(std::isnan(m.work.prompt_ms));
  // one disturbed step is no reason to say otherwise
  LaneSnapshot disturbed = lane;
  for (StepPtr& step : disturbed.steps) {
    auto copy = std::make_shared<StepRecord>(*step);
    copy->policy_ms = step == disturbed.steps.back() ? 80 : 0.5;
    step = copy;
  }
  disturbed.compress_ms += 79.5;
  EXPECT_DOUBLE_EQ(lane_metrics(snapshot, disturbed, -1, 3).work.ms, 0.5);
  EXPECT_EQ(lane_metrics(snapshot, disturbed, -1, 3).work.n_steps, static_cast<int>(disturbed.steps.size()));
  // a prefill's one compression is no step's
  const double steps = static_cast<double>(lane.steps.size()) - 1;
  lane.prompt_compress_ms = 7;
  lane.compress_ms = 7 + 0.5 * steps;
  const LaneMetrics after_prompt = lane_metrics(snapshot, lane, -1, 3);
  EXPECT_DOUBLE_EQ(after_prompt.work.ms, 0.5);
  EXPECT_EQ(after_prompt.work.prompt_ms, 7);
  EXPECT_EQ(after_prompt.work.probe_tokens, 0);
  auto probing = std::make_shared<StepRecord>(*lane.steps.front());
  probing->probe_tokens = 120;
  probing->probe_ms = 6;
  lane.steps.front() = probing;
  EXPECT_THAT(metric_lines(snapshot, 1, lane_metrics(snapshot, lane, -1, 3), {MetricColumn::Kind::policy, "", "", 0}),
              ::testing::Contains("a probe ran 120 tokens over the full cache, 6.00 ms of the prompt's time"));
  lane.prompt_compress_ms = kNotAvailable;
  lane.compress_ms = 0.5 * (steps + 1);
  EXPECT_EQ(metric_text(snapshot, m, MetricColumn::Kind::policy), "0.5") << "a clock knows no third digit";
  lane.slots_asked = -1;
  EXPECT_EQ(metric_text(snapshot, lane_metrics(snapshot, lane, -1, 3), MetricColumn::Kind::policy), "n/a")
      << "nothing to decide is no zero";
}

TEST(LaneDifference, CountsWhatASlotRepresents) {
  const Snapshot s = small_snapshot();  // lane 0 keeps all 8; lane 1 has lost token 0 only, the merged ones live on
  Represented x, y;
  x.show(s.lanes[0], 7);
  y.show(s.lanes[1], 7);
  const LaneDifference d(x, y);
  EXPECT_EQ(d.total(), 8);
  EXPECT_EQ(d.at(0, 0), Difference::only_a);
  EXPECT_EQ(d.at(0, 1), Difference::both);
  EXPECT_THAT(DifferenceCounts().of(d), ElementsAre(0, 1, 0, 7));  // neither, only a, only b, both
  EXPECT_THAT(DifferenceCounts().of(LaneDifference(y, x)), ElementsAre(0, 0, 1, 7));
  y.show(s.lanes[1], 5);
  EXPECT_EQ(LaneDifference(y, x).total(), 6);  // tokens that both have seen
  EXPECT_TRUE(LaneDifference(Represented(), x).empty());
}

TEST(LaneDifference, CountsAddUpToAllTokenHeads) {
  const Snapshot s = synthetic::make_snapshot();
  for (const int step : {0, 7, 12}) {
    Represented x, y;
    x.show(s.lanes[1], step);
    y.show(s.lanes[3], 12);
    const LaneDifference d(x, y);
    EXPECT_EQ(d.total(), 24 * (167 + step));
    std::array<std::int64_t, 4> by_hand{};
    for (int h = 0; h < 24; ++h) {
      for (int t = 0; t < 167 + step; ++t) ++by_hand[static_cast<std::size_t>(d.at(h, t))];
    }
    EXPECT_EQ(DifferenceCounts().of(d), by_hand);
    EXPECT_EQ(std::accumulate(by_hand.begin(), by_hand.end(), std::int64_t{0}), d.total());
  }
}

TEST(TokenCount, SeparatesKeptFromMerged) {
  const Snapshot s = small_snapshot();
  EXPECT_EQ(token_count(s.lanes[1], 7, 3).kept, 1);
  EXPECT_EQ(token_count(s.lanes[1], 7, 1).merged, 1);
  EXPECT_EQ(token_count(s.lanes[1], 7, 0).kept + token_count(s.lanes[1], 7, 0).merged, 0);
  EXPECT_EQ(token_count(s.lanes[1], 3, 1).kept, 1);
  EXPECT_EQ(token_count(s.lanes[1], 7, 99).heads, 0);
}

TEST(TokenCount, SaysWhenTheOthersWent) {
  const Snapshot s = synthetic::make_snapshot();
  const TokenCount count = token_count(s.lanes[2], 12, 60);
  EXPECT_EQ(count.kept + count.merged + count.evicted, 24);
  ASSERT_GT(count.evicted, 0);
  const std::string text = evicted_text(count);
  EXPECT_THAT(text, HasSubstr("in " + std::to_string(count.evicted) + " of 24 heads"));
  EXPECT_EQ(evicted_text(TokenCount{1, 0, 2, 3, 88, 88}), "evicted step 88 in 2 of 3 heads");
  EXPECT_EQ(evicted_text(TokenCount{1, 0, 2, 3, 12, 88}), "evicted steps 12–88 in 2 of 3 heads");
  EXPECT_EQ(evicted_text(TokenCount{3, 0, 0, 3, -1, -1}), "");
}

TEST(TokenCounts, AreThoseOfEveryTokenAndStepWhateverWasAskedBefore) {
  Snapshot s = synthetic::make_snapshot();
  TokenCounts counts;
  for (const int token : {0, 60, 87, 166, 3, 178})
    for (int step = 0; step < static_cast<int>(s.lanes[1].steps.size()); step += 3)
      for (int lane = 0; lane < static_cast<int>(s.lanes.size()); ++lane)
        ASSERT_EQ(counts.of(s, lane, step, token), token_count(s.lanes[static_cast<std::size_t>(lane)], step, token))
            << token << " " << step << " " << lane;
  EXPECT_EQ(counts.of(s, 1, 3, -1), TokenCount{});
  EXPECT_EQ(counts.of(s, 1, 3, 100000), TokenCount{});
  // Other fates of the same token: a run that was computed anew.
  auto again = std::make_shared<LaneFates>(*s.lanes[2].fates);
  again->heads[0] = HeadFates{};
  FateWriter(again->heads[0], again->n_tokens).left(60) = 1;
  s.lanes[2].fates = again;
  EXPECT_EQ(counts.of(s, 2, 12, 60), token_count(s.lanes[2], 12, 60));
  // One that came back by hand at step 5.
  again = std::make_shared<LaneFates>(*again);
  again->heads[1].past.push_back({60, 5, {.left = 2, .into = -1, .lost = 2}});
  s.lanes[2].fates = again;
  for (const int step : {6, 3, 12, 1}) EXPECT_EQ(counts.of(s, 2, step, 60), token_count(s.lanes[2], step, 60)) << step;
}

TEST(TextDifference, IsTheFirstFedTokenElseTheFirstChoiceThatDiffers) {
  Snapshot s;
  s.n_prompt = 3;
  s.lanes = {lane_of_four(), lane_of_four()};
  const TextSplit choice = first_text_difference(s, 1);
  EXPECT_EQ(choice.position, 4);  // its choice after the query at position 3
  EXPECT_TRUE(choice.forced);
  EXPECT_EQ(choice.own, "#11#12#13");
  EXPECT_EQ(choice.reference, "#99#12#13");
  const auto feed = [](LaneSnapshot& lane, std::vector<int> ids) {
    for (std::size_t i = 0; i < ids.size(); ++i) {
      auto step = std::make_shared<StepRecord>(*lane.steps[i]);
      step->next_token = ids[i];
      lane.steps[i] = step;
    }
    lane.fed = std::move(ids);
  };
  feed(s.lanes[0], {7, 8, 9});
  feed(s.lanes[1], {7, 8, 5});
  const TextSplit fed = first_text_difference(s, 1);
  EXPECT_EQ(fed.position, 5);
  EXPECT_FALSE(fed.forced);
  EXPECT_EQ(fed.own, "#5");
  EXPECT_EQ(fed.reference, "#9");
  // Streamed, the steps of the prompt are fed tokens, too: they stand in the text once.
  for (LaneSnapshot& lane : s.lanes) {
    for (int position = 1; position >= 0; --position) {
      auto step = std::make_shared<StepRecord>(*lane.steps.front());
      step->position = position;
      step->next_token = 6;
      lane.steps.insert(lane.steps.begin(), step);
      lane.fed.insert(lane.fed.begin(), 6);
    }
  }
  s.prefill_mode = false;
  s.follow = "self";
  EXPECT_EQ(first_text_difference(s, 1).position, 5);
  EXPECT_EQ(first_text_difference(s, 1).compared, 3) << "tokens after the prompt";
  s.lanes[1].steps.clear();
  s.lanes[1].fed.clear();
  EXPECT_EQ(first_text_difference(s, 1).position, -1);
  EXPECT_EQ(first_text_difference(s, 1).compared, 0);
}

TEST(SortedLanes, KeepTheReferenceFirstAndGapsLast) {
  std::vector<LaneMetrics> lanes(5);
  const double kl[] = {9, 3, kNotAvailable, 1, 3};
  for (std::size_t i = 0; i < 5; ++i) lanes[i].kl = kl[i];
  EXPECT_THAT(sorted_lanes(lanes, {}), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(sorted_lanes(lanes, {MetricColumn::Kind::kl, false}), ElementsAre(0, 3, 1, 4, 2));
  EXPECT_THAT(sorted_lanes(lanes, {MetricColumn::Kind::kl, true}), ElementsAre(0, 1, 4, 3, 2));
  EXPECT_TRUE(sorted_lanes({}, {MetricColumn::Kind::kl, true}).empty());
}

TEST(TextOfId, LooksInTheVocabularyElseInTheText) {
  Snapshot s = small_snapshot();
  EXPECT_EQ(text_of_id(s, 103), "t3");
  EXPECT_EQ(text_of_id(s, 1), "#1");
  auto vocabulary = std::make_shared<std::vector<TokenInfo>>(2);
  (*vocabulary)[0] = {.id = -1};  // a trace names only some
  (*vocabulary)[1] = {.id = 1, .bytes = " Lisbon"};
  s.vocabulary = vocabulary;
  EXPECT_EQ(text_of_id(s, 1), "·Lisbon");
  EXPECT_EQ(text_of_id(s, 103), "t3") << "beyond the vocabulary";
  EXPECT_EQ(text_of_id(s, 0), "#0") << "not known here";
  EXPECT_EQ(text_of_id(s, -5), "n/a");
}

TEST(LaneParams, NameWhatThePolicyTakesButNotTheBudget) {
  LaneSnapshot lane;
  lane.params = {{"slots", "42"}, {"sinks", "4"}, {"recent", "8"}, {"form", "bias"}};
  EXPECT_THAT(lane_params(lane), ElementsAre("sinks 4", "recent 8", "form bias"));
  EXPECT_TRUE(lane_params(LaneSnapshot{}).empty());
  LaneSnapshot stored;
  stored.params = {{"bits", "4"}};
  stored.warnings = {{.kind = LaneWarning::Kind::as_if_stored, .asked = 1000, .got = 1000}};
  EXPECT_THAT(lane_params(stored), ElementsAre("all still in full", "bits 4"));
  for (const double other : {400, 1100}) {
    stored.warnings[0].got = other;
    EXPECT_THAT(lane_params(stored), ElementsAre("bits 4"));
  }
  EXPECT_EQ(lane_letter(4), "E");
  EXPECT_EQ(lane_letter(26), "27");
}

TEST(LaneParams, WhatTellsARunFromItsTwinsComesFirst) {
  Snapshot snapshot;
  snapshot.lanes.resize(4);
  for (LaneSnapshot& lane : snapshot.lanes)
    lane = {.policy = "one", .params = {{"slots", "8"}, {"sinks", "4"}, {"seed", "0"}}, .slots_asked = 8};
  snapshot.lanes[0].policy = "full";
  std::size_t n_differ = 9;
  snapshot.lanes[3].policy = "another";
  snapshot.lanes[2].params[2].value = "1";
  EXPECT_THAT(telling_params(snapshot, snapshot.lanes[2], &n_differ), ElementsAre("seed 1", "sinks 4"));
  EXPECT_EQ(n_differ, 1u);
  snapshot.lanes[2].slots_asked = 1200;
  EXPECT_THAT(telling_params(snapshot, snapshot.lanes[2], &n_differ), ElementsAre(format_count(1200) + " slots", "seed 1", "sinks 4"));
  EXPECT_EQ(n_differ, 2u);
  EXPECT_THAT(telling_params(snapshot, snapshot.lanes[3], &n_differ), ElementsAre("sinks 4", "seed 0"));
  EXPECT_EQ(n_differ, 0u);
}

}  // namespace
}  // namespace kvscope::viz
