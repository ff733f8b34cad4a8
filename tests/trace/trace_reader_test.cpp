// SPDX-License-Identifier: Apache-2.0
#include "trace/trace_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "paths.h"
#include "snapshot/figures.h"
#include "snapshot/held_bytes.h"
#include "tests/trace/sample_run.h"
#include "trace/trace_writer.h"

namespace kvscope {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

std::string message_of(const std::string& text) {
  try {
    read_trace(text, "t.json");
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

/// The sample with one thing changed.
std::string changed(const json::json_pointer& where, const json& value) {
  json t = json::parse(trace_text(sample_run(), {.detail = Detail::why}));
  t[where] = value;
  return t.dump();
}

TEST(TraceReader, GivesBackTheSameDocumentForEveryDetail) {
  for (const Detail detail : {Detail::summary, Detail::events, Detail::slots, Detail::why}) {
    const std::string once = trace_text(sample_run(), {.detail = detail, .seed = 18446744073709551615u});
    const Trace t = read_trace(once, "t.json");
    EXPECT_EQ(t.seed, 18446744073709551615u);
    const std::string twice = trace_text(t.snapshot, {.detail = detail, .seed = t.seed});
    EXPECT_TRUE(json::parse(twice) == json::parse(once)) << name_of(detail) << "\n" << json::diff(json::parse(once), json::parse(twice));
  }
}

TEST(TraceReader, OfEveryDetailTextsRunsAndStepsAreTheSame) {
  const auto without_heads = [](Detail detail) {
    json t = json::parse(trace_text(sample_run(), {.detail = detail}));
    t.erase("detail");
    for (json& lane : t["lanes"])
      for (json& step : lane["steps"]) {
        step.erase("heads");
        for (json& logit : step["logits_top"]) logit = {logit[0], logit[1]};  // --detail why has the probabilities there, too
      }
    return t;
  };
  const json whole = without_heads(Detail::why);
  for (const Detail detail : {Detail::summary, Detail::events, Detail::slots})
    EXPECT_TRUE(without_heads(detail) == whole) << name_of(detail) << "\n" << json::diff(whole, without_heads(detail));
}

TEST(TraceReader, WhereATraceDoesNotTellTheFullCachesChoiceItIsThatOfItsOwnStep) {
  json t = json::parse(trace_text(sample_run()));
  for (json& lane : t["lanes"])
    for (json& step : lane["steps"]) step.erase("top1_reference");
  const Trace read = read_trace(t.dump(), "t.json");
  for (const LaneSnapshot& lane : read.snapshot.lanes)
    for (const StepPtr& step : lane.steps) EXPECT_EQ(step->top1_reference, 4) << lane.spec << " step " << step->step;
}

TEST(TraceReader, WhatATraceDoesNotHaveIsNotZero) {
  const Trace slots = read_trace(trace_text(sample_run()), "t.json"),
              why = read_trace(trace_text(sample_run(), {.detail = Detail::why}), "t.json");
  const auto head = [](const Trace& t) { return t.snapshot.lanes[1].steps[0]->heads[0]; };
  EXPECT_EQ(head(why).bias, head(Trace{.snapshot = sample_run()}).bias);
  ASSERT_EQ(head(slots).bias.size(), head(slots).pos.size());
  for (const double bias : head(slots).bias) EXPECT_TRUE(std::isnan(bias)) << "none would be a bias of 0";
}

TEST(TraceReader, SinksAreThoseOfTheParametersWhereAnEarlierVersionWroteIt) {
  json t = json::parse(trace_text(sample_run()));
  t["lanes"][1].erase("sinks");
  t["lanes"][1]["params"]["sinks"] = 1;
  EXPECT_EQ(read_trace(t.dump(), "t.json").snapshot.lanes[1].sinks, 1);
}

TEST(TraceReader, KnowsTheTemperatureWhereItIsSaid) {
  Snapshot run = sample_run();
  for (const double said : {0.5, 0.0}) {
    run.temperature = said;
    EXPECT_EQ(read_trace(trace_text(run), "t.json").snapshot.temperature, said);
  }
  run.temperature = kNotAvailable;  // as earlier versions wrote them
  EXPECT_TRUE(std::isnan(read_trace(trace_text(run), "t.json").snapshot.temperature));
  EXPECT_THAT(message_of(changed(json::json_pointer("/temperature"), -1)),
              HasSubstr("t.json: temperature: expected a number from 0, got -1"));
}

TEST(TraceReader, TheWorkOfAPolicyIsNotKnown) {
  const Snapshot s = read_trace(trace_text(sample_run(), {.detail = Detail::why}), "t.json").snapshot;
  ASSERT_GE(s.lanes.at(1).slots_asked, 0);
  EXPECT_TRUE(std::isnan(policy_work(s, s.lanes[1]).ms)) << "a trace has no times, and no time is not 0 ms";
}

TEST(TraceReader, DetailWhyGivesBackWhatTheWindowShows) {
  const Snapshot was = sample_run();
  const Snapshot is = read_trace(trace_text(was, {.detail = Detail::why}), "t.json").snapshot;
  EXPECT_EQ(is.phase, RunPhase::idle);
  EXPECT_EQ(is.prompt, was.prompt);
  ASSERT_EQ(is.tokens.size(), 4u);
  EXPECT_TRUE(is.tokens[0].special);
  EXPECT_EQ(is.tokens[0].piece, "<s>");
  EXPECT_EQ(is.tokens[1].bytes, "caf\xC3") << "half a code point comes back as it was";
  EXPECT_EQ(is.tokens[1].text_end, 4);
  EXPECT_EQ(is.tokens[3].text_begin, -1);
  const LaneSnapshot& lane = is.lanes[1];
  EXPECT_EQ(lane.title, "Pairs");
  EXPECT_EQ(lane.half_life, 6.5);
  EXPECT_EQ(lane.fed, std::vector<int>({9}));
  const HeadRecord& head = lane.steps[0]->heads[1];
  EXPECT_EQ(head.attention, std::vector<float>({0.5f, 0.25f, 0.1f}));
  EXPECT_EQ(head.agreement, was.lanes[1].steps[0]->heads[1].agreement);
  EXPECT_FALSE(head.agreement.empty());
  EXPECT_EQ(lane.kv_bytes, 640);
  EXPECT_EQ(lane.bytes, 1024);
  ASSERT_EQ(lane.head_params.size(), 1u);
  EXPECT_EQ(lane.head_params[0].layer, 0);
  EXPECT_EQ(lane.head_params[0].kv_head, 1);
  EXPECT_EQ(lane.head_params[0].key, "threshold");
  EXPECT_EQ(lane.head_params[0].value, "0.6");
  EXPECT_EQ(head.bias, std::vector<double>({0.6931471805599453, 0}));
  EXPECT_TRUE(std::isnan(head.score[1]));
  EXPECT_EQ(head.merges[0].members, std::vector<int>({1, 0}));
  EXPECT_TRUE(lane.steps[1]->heads[1].events[0].fallback);
  EXPECT_EQ(lane.steps[0]->top_tokens[1].rank_reference, 1);
}

TEST(TraceReader, KnowsWhatWasFitted) {
  Snapshot was = sample_run();
  EXPECT_EQ(trace_text(was, {.detail = Detail::why}).find("\"fit\""), std::string::npos) << "where nothing was";
  auto step = std::make_shared<StepRecord>(*was.lanes[1].steps[0]);
  step->heads[1].merges.push_back(
      {.into = 1, .members = {1}, .votes = {1}, .extra = -0.5, .value_change = 0.25, .error_before = 0.5, .error_after = kNotAvailable});
  was.lanes[1].steps[0] = step;
  const MergeDetail is = read_trace(trace_text(was, {.detail = Detail::why}), "t").snapshot.lanes[1].steps[0]->heads[1].merges.back();
  EXPECT_EQ(is.members, std::vector<int>({1}));
  EXPECT_EQ(is.extra, -0.5);
  EXPECT_EQ(is.value_change, 0.25);
  EXPECT_EQ(is.error_before, 0.5);
  EXPECT_TRUE(std::isnan(is.error_after));
}

TEST(TraceReader, KnowsTheWindowsOfLayers) {
  Snapshot was = sample_run();
  EXPECT_EQ(trace_text(was, {.detail = Detail::slots}).find("windows"), std::string::npos) << "a model without any";
  was.model.layers.resize(static_cast<std::size_t>(was.model.n_layers));
  was.model.layers.front().window = 7;
  const std::string text = trace_text(was, {.detail = Detail::slots});
  const Snapshot is = read_trace(text, "t.json").snapshot;
  for (int l = 0; l < was.model.n_layers; ++l) EXPECT_EQ(is.model.window(l), l == 0 ? 7 : 0);
  json more = json::parse(text), negative = more;
  more["model"]["windows"].push_back(3);
  EXPECT_THAT(message_of(more.dump()), HasSubstr("model.windows: expected a window for each of"));
  negative["model"]["windows"][0] = -1;
  EXPECT_THAT(message_of(negative.dump()), HasSubstr("model.windows"));
}

TEST(TraceReader, KnowsHowManySlotsThereWereWhereOnlyFiguresAreKept) {
  Snapshot was = sample_run();
  StepPtr& step = was.lanes[1].steps[0];
  const int n_slots = step->heads[0].n_slots;
  step = std::make_shared<StepRecord>(figures_of(*step));
  for (const Detail detail : {Detail::slots, Detail::why}) {
    const Trace read = read_trace(trace_text(was, {.detail = detail}), "t.json");
    const HeadRecord& head = read.snapshot.lanes[1].steps[0]->heads[0];
    EXPECT_GT(n_slots, 0);
    EXPECT_EQ(head.n_slots, n_slots);
    EXPECT_TRUE(head.pos.empty());
  }
}

TEST(TraceReader, CountsTheSlotsThatEventsLeaveWhereNoneAreWritten) {
  const Snapshot was = sample_run(), is = read_trace(trace_text(was, {.detail = Detail::events}), "t.json").snapshot;
  int asked = 0;
  for (std::size_t lane = 0; lane < was.lanes.size(); ++lane)
    for (std::size_t step = 0; step < was.lanes[lane].steps.size(); ++step)
      for (std::size_t head = 0; head < 2; ++head, ++asked) {
        const HeadRecord& got = is.lanes[lane].steps[step]->heads[head];
        EXPECT_EQ(got.n_slots, was.lanes[lane].steps[step]->heads[head].n_slots) << lane << " " << step << " " << head;
        EXPECT_TRUE(got.pos.empty());
      }
  EXPECT_GT(asked, 4);
}

TEST(TraceReader, KnowsTheTextsOfCandidatesWithoutTheTokenizer) {
  Snapshot was = sample_run();
  std::vector<TokenInfo> vocabulary(512);
  for (int id = 0; id < 512; ++id) vocabulary[static_cast<std::size_t>(id)] = {.id = id, .bytes = "word " + std::to_string(id)};
  was.vocabulary = std::make_shared<const std::vector<TokenInfo>>(vocabulary);
  const std::string text = trace_text(was, {.detail = Detail::why});
  const Snapshot is = read_trace(text, "t.json").snapshot;
  std::set<int> candidates;
  for (const TopToken& t : was.lanes[1].steps[0]->top_tokens) candidates.insert(t.id);
  ASSERT_GE(candidates.size(), 2u);
  ASSERT_NE(is.vocabulary, nullptr);
  for (const int id : candidates) {
    EXPECT_EQ(is.vocabulary->at(static_cast<std::size_t>(id)).id, id);
    EXPECT_EQ(is.vocabulary->at(static_cast<std::size_t>(id)).bytes, "word " + std::to_string(id));
  }
  int known = 0;
  for (const TokenInfo& token : *is.vocabulary) known += token.id >= 0;
  EXPECT_LT(known, 20) << "only these: the others say so by their id";
  EXPECT_EQ(json::parse(trace_text(is, {.detail = Detail::why}))["candidate_texts"], json::parse(text)["candidate_texts"]);
  EXPECT_EQ(json::parse(trace_text(was))["candidate_texts"], json::parse(text)["candidate_texts"]) << "at every detail";
  json t = json::parse(text);
  t["candidate_texts"] = {{3, "x"}, {3, "y"}};
  EXPECT_EQ(message_of(t.dump()), "t.json: candidate_texts[1][0]: expected a whole number in 4..511, got 3");
}

TEST(TraceReader, DerivesTheFatesOfTokensFromTheEvents) {
  const Trace t = read_trace(trace_text(sample_run()), "t.json");
  const HeadFates& evicted = t.snapshot.lanes[1].fates->heads[0];
  EXPECT_EQ(evicted.into(0), 1);
  EXPECT_EQ(evicted.left(0), 0);
  EXPECT_EQ(evicted.lost(0), kNever) << "merged, still represented";
  EXPECT_EQ(evicted.lost(2), 1);
  const HeadFates& restored = t.snapshot.lanes[1].fates->heads[1];
  EXPECT_EQ(restored.left(0), kNever);
  EXPECT_EQ(fate_at(restored, 0, 0).into, 1) << "before it came back";
}

TEST(TraceReader, GivesBackWhatWasDoneByHand) {
  const Trace t = read_trace(trace_text(sample_run()), "t.json");
  const HeadRecord& head = t.snapshot.lanes[1].steps[1]->heads[1];
  EXPECT_EQ(head.pinned, (std::vector<int>{0, 3}));
  EXPECT_TRUE(head.overridden);
  EXPECT_FALSE(head.events[0].by_hand);
  EXPECT_TRUE(head.events[1].by_hand);
  EXPECT_EQ(head.events[1].kind, Event::Kind::restore);
  EXPECT_FALSE(t.snapshot.lanes[1].steps[1]->heads[0].overridden);
}

TEST(TraceReader, ReadsEveryTraceOfTheOracle) {
  int n = 0;
  for (const auto& file : std::filesystem::directory_iterator(in_checkout("tests/golden"))) {
    if (file.path().extension() != ".json" || !file.path().filename().string().starts_with("tiny-")) continue;
    const Trace t = read_trace_file(file.path().string());
    EXPECT_EQ(t.snapshot.model.n_layers, 2) << file.path();
    EXPECT_EQ(t.snapshot.lanes[0].policy, "full") << file.path();
    EXPECT_FALSE(t.snapshot.prefill_mode && t.snapshot.lanes[1].steps.size() != 4u) << file.path();
    ++n;
  }
  EXPECT_EQ(n, 60);
}

TEST(TraceReader, IgnoresUnknownKeysAndNamesUnknownEvents) {
  json t = json::parse(trace_text(sample_run()));
  t["later"] = {{"a", 1}};
  t["lanes"][1]["steps"][0]["heads"][0]["theta"] = 4;
  auto& events = t["lanes"][1]["steps"][1]["heads"][0]["events"];
  events.insert(events.begin(), json({{"kind", "split"}, {"pos", 2}, {"into", {0, 1}}}));
  const Trace trace = read_trace(t.dump(), "t.json");
  EXPECT_EQ(trace.snapshot.lanes[1].steps[1]->heads[0].events.size(), 1u);
  EXPECT_THAT(trace.warnings, ::testing::ElementsAre("events of kind 'split' were left out"));
}

TEST(TraceReader, ASpreadValueBelongsToTheEvictionRightAfterIt) {
  const auto with_events = [](const json& events) {
    json t = json::parse(trace_text(sample_run()));
    t["lanes"][1]["steps"][1]["heads"][0]["events"] = events;
    return t.dump();
  };
  const json spread = {{"kind", "spread"}, {"pos", 2}, {"into", {1, 3}}, {"weights", {0.5, 1}}}, evict = {{"kind", "evict"}, {"pos", 2}};
  const Trace trace = read_trace(with_events({spread, evict}), "t.json");
  const std::vector<Event>& events = trace.snapshot.lanes[1].steps[1]->heads[0].events;
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].spread, std::vector<int>({1, 3}));
  EXPECT_THAT(trace.warnings, ::testing::IsEmpty());
  EXPECT_EQ(
      message_of(with_events(json::array({spread}))),
      "t.json: lanes[1].steps[1].heads[0].events: expected the eviction of token 2 after the spreading of its value, got a list of 1");
  const json merge = {{"kind", "merge"}, {"pos", 2}, {"into", 1}};
  EXPECT_THAT(message_of(with_events({spread, merge})), ::testing::HasSubstr("events[1]: expected the eviction of token 2"));
  const json outside = {{"kind", "spread"}, {"pos", 2}, {"into", {99}}};
  EXPECT_THAT(message_of(with_events({outside, evict})), ::testing::HasSubstr("events[0].into"));
}

TEST(TraceReader, SaysWhereAndWhatItExpected) {
  const auto at = [](const char* p) { return json::json_pointer(p); };
  EXPECT_EQ(message_of(changed(at("/lanes/1/steps/0/heads/0/slots/0"), "x")),
            "t.json: lanes[1].steps[0].heads[0].slots[0]: expected a list, got \"x\"");
  EXPECT_EQ(message_of(changed(at("/lanes/1/steps/0/heads/0/slots/1/0"), 0)),
            "t.json: lanes[1].steps[0].heads[0].slots[1][0]: expected 2, got 0");
  EXPECT_EQ(message_of(changed(at("/lanes/1/steps/1/position"), 99)), "t.json: lanes[1].steps[1].position: expected 3, got 99");
  EXPECT_EQ(message_of(changed(at("/tokens/2"), 512)), "t.json: tokens[2]: expected a whole number in 0..511, got 512");
  EXPECT_EQ(message_of(changed(at("/tokens/2"), 1.5)), "t.json: tokens[2]: expected a whole number in 0..511, got 1.5");
  EXPECT_EQ(message_of(changed(at("/model/n_kv_heads"), 3)), "t.json: model.n_kv_heads: expected a divisor of n_heads = 4, got 3");
  EXPECT_EQ(message_of(changed(at("/model/n_layers"), 2)),
            "t.json: lanes[0].steps[0].heads: expected none or all 4 heads, got a list of 2");
  EXPECT_EQ(message_of(changed(at("/model/n_layers"), 1000000000)),
            "t.json: model.n_layers: expected a whole number in 1..4096, got 1000000000");
  EXPECT_EQ(message_of(changed(at("/prompt_mode"), "both")), "t.json: prompt_mode: expected prefill or stream, got \"both\"");
  EXPECT_EQ(message_of(changed(at("/schema"), "kvscope.trace/2")),
            "t.json: expected a trace of schema kvscope.trace/1, got kvscope.trace/2");
  EXPECT_EQ(message_of(changed(at("/token_texts/1"), json{{"hex", "6g"}})),
            "t.json: token_texts[1].hex: expected pairs of hexadecimal digits, got \"6g\"");
  EXPECT_EQ(message_of(changed(at("/lanes/1/steps/0/heads/0/attention"), {1})),
            "t.json: lanes[1].steps[0].heads[0].attention: expected none or one number per attended slot (3), got a list of 1");
  EXPECT_EQ(message_of(changed(at("/lanes/1/steps/0/hidden_rel_l2"), {1, 2})),
            "t.json: lanes[1].steps[0].hidden_rel_l2: expected one number per layer (1), got a list of 2");
}

TEST(TraceReader, RefusesEventsThatCannotHaveHappened) {
  const json::json_pointer event("/lanes/1/steps/1/heads/0/events/0"), merge("/lanes/1/steps/1/heads/1/events/0");
  EXPECT_EQ(message_of(changed(event / "pos", 0)),
            "t.json: lanes[1].steps[1].heads[0].events[0].pos: expected a token that has a slot, got 0");
  EXPECT_THAT(message_of(changed(event / "pos", -1)), HasSubstr("events[0].pos: expected a whole number in 0..3, got -1"));
  EXPECT_THAT(message_of(changed(merge / "into", 0)), HasSubstr("events[0].into: expected another token that has a slot, got 0"));
  EXPECT_THAT(message_of(changed(merge / "into", 2)), HasSubstr("events[0].into: expected another token that has a slot, got 2"));
  EXPECT_THAT(message_of(changed(json::json_pointer("/lanes/1/steps/1/heads/1/events/1/pos"), 1)),
              HasSubstr("events[1].pos: expected a token that has no slot, got 1"));
  json t = json::parse(trace_text(sample_run(), {.detail = Detail::why}));
  auto& events = t["lanes"][1]["steps"][1]["heads"][1]["events"];
  events[0]["into"] = 0;  // which comes back only afterwards
  EXPECT_THAT(message_of(t.dump()), HasSubstr("events[0].into: expected another token that has a slot, got 0"));
  std::swap(events[0], events[1]);
  EXPECT_THAT(message_of(t.dump()), Not(HasSubstr("events"))) << "in this order it could";
}

/// What a window would show of it contradicts itself.
TEST(TraceReader, RefusesNumbersThatContradictEachOther) {
  const std::string step = "/lanes/1/steps/1", head = step + "/heads/0";
  const struct {
    std::string at;
    json value;
    const char* said;
  } cases[] = {
      {"/n_prompt", 0, "n_prompt: expected a whole number in 1..4, got 0"},
      {"/n_prompt", 2, "lanes[0].steps[0].position: expected 1, got 2"},
      {"/tokens", {1, 300, 17}, "lanes[0].steps[1].position: expected a token of the text, which has 3, got 3"},
      {"/tokens/3", 8, "lanes[0].steps[0].next_token: expected 8, got 9"},
      {"/lanes/1/head_params/0/layer", 1, "head_params[0].layer: expected 0, got 1"},
      {head + "/slots", {{1, 2, 0.8}}, "slots: expected 2 slots, as the events leave them, token 3 among them, got a list of 1"},
      {head + "/slots", {{1, 2, 0.8}, {2, 1, 0.8}}, "slots[1][0]: expected a token that has not left its slot, got 2"},
      {head + "/slots/0/1", 0, "slots[0][1]: expected a whole number in 1..4, got 0"},
      {head + "/slots/0/1", 4, "slots: expected at most 4 votes in all, one for each token that was read, got a list of 2"},
      {head + "/evicted_votes", 3, "evicted_votes: expected 1, got 3"},
      {head + "/n_slots", 7, "n_slots: expected 2, got 7"},
      {head + "/pooled_tokens", 3, "pooled_tokens: expected a whole number in 0..2, got 3"},
      {head + "/residual", {0}, "residual[0]: expected positions of slots, in ascending order, got 0"},
      {head + "/residual", {3, 1}, "residual[1]: expected positions of slots, in ascending order, got 1"},
      {head + "/residual", {1, 3}, "no error"},
      {head + "/to_residual", {3}, "to_residual[0]: expected positions that stand in \"residual\", in ascending order, got 3"},
      {head + "/pooled_share", 1.5, "pooled_share: expected a share from 0 to 1, got 1.5"},
      {head + "/unread", {0}, "unread[0]: expected a token that has a slot, got 0"},
      {head + "/unread", {3, 1}, "unread: expected positions in ascending order"},
      {head + "/attended", {0, 1, 2}, "attended[0]: expected a token that has a slot, got 0"},
      {head + "/page_scores", {1, 2, 3, 4}, "page_scores"},
      {step + "/top_tokens/0/p", 1.5, "top_tokens[0].p: expected a share from 0 to 1, got 1.5"},
      {step + "/top_tokens/0/rank", 513, "top_tokens[0].rank: expected a whole number in 0..512, got 513"},
      {"/lanes/1/steps/0/heads/0/merges/0/members", {0}, "members: expected tokens that are merged, the target 1 once among them"},
      {"/lanes/1/steps/0/heads/0/merges/0/members", {1, 1}, "members: expected tokens that are merged, the target 1 once among them"},
      {"/token_ranges/1", {-1, 4}, "token_ranges[1][1]: expected -1, got 4"},
      {"/token_ranges/2", {0, 5}, "no error"},  // bytes that two tokens share
      {"/token_ranges/0", {4, 4}, "token_ranges[1][0]: expected a whole number in 4..5, got 0"},
  };
  json whole = json::parse(trace_text(sample_run(), {.detail = Detail::why}));
  ASSERT_EQ(message_of(whole.dump()), "no error");
  for (const auto& one : cases) {
    json t = whole;
    if (one.at == "/tokens") t.erase("token_texts"), t.erase("token_ranges");
    if (one.at == head + "/slots") t[json::json_pointer(head)].erase("stats");
    t[json::json_pointer(one.at)] = one.value;
    EXPECT_THAT(message_of(t.dump()), HasSubstr(one.said)) << one.at << " " << one.value;
  }
}

/// No run can have had them, whatever else stands in the file.
TEST(TraceReader, RefusesNumbersThatAreImpossible) {
  const std::string full = "/lanes/0/steps/1", run = "/lanes/1", step = run + "/steps/1", head = step + "/heads/0";
  const std::string first = run + "/steps/0/heads/0", event = first + "/events/0", merge = first + "/merges/0";
  const struct {
    std::string at;
    json value;
    const char* said;
  } cases[] = {
      {step + "/kl", -1, "t.json: lanes[1].steps[1].kl: expected a number from 0, got -1"},
      {step + "/kl", -1e30, "steps[1].kl: expected a number from 0, got -1e+30"},
      {step + "/kl", -1e-9, "no error"},  // by rounding
      {step + "/kl", nullptr, "no error"},
      {run + "/steps/0/nll", -0.5, "steps[0].nll: expected a number from 0, got -0.5"},
      {step + "/top1_same", true,
       "lanes[1].steps[1].top1_same: expected false: the most likely token is 17, and the reference's 4, got true"},
      {full + "/top1_same", false, "lanes[0].steps[1].top1_same: expected true: the most likely token is 4, and the reference's 4"},
      {full + "/top1_reference", 9, "lanes[0].steps[1].top1_same: expected false"},
      {step + "/top1_reference", 9, "lanes[1].steps[1].top1_reference: expected 4, the full cache's most likely token, got 9"},
      {step + "/top1", 4, "lanes[1].steps[1].top1: expected 17, the first of logits_top, got 4"},
      {run + "/policy", "h2o", "t.json: lanes[1].policy: expected pairs, the policy of the run \"pairs:slots=2,form=zip\", got \"h2o\""},
      {run + "/spec", "h2o:slots=2", "lanes[1].policy: expected h2o, the policy of the run \"h2o:slots=2\", got \"pairs\""},
      {step + "/top_tokens/0/p", 0.9, "top_tokens: expected probabilities that are together at most 1 and not 1.15"},
      {step + "/top_tokens/1/p_reference", 0.9, "top_tokens: expected probabilities that are together at most 1 and not 1.15"},
      {head + "/attention", {2, 0, 0}, "heads[0].attention[0]: expected a share from 0 to 1, got 2"},
      {head + "/attention", {0.9, 0.9, 0}, "heads[0].attention: expected shares of one whole, together at most 1 and not 1.8"},
      {head + "/reference_attention/2", -0.5, "reference_attention[2]: expected a share from 0 to 1, got -0.5"},
      {head + "/attention_loss", 1.5, "attention_loss: expected a share from 0 to 1, got 1.5"},
      {head + "/local_rel_l2", -1, "local_rel_l2: expected a number from 0, got -1"},
      {head + "/kv_bytes", -8, "kv_bytes: expected a number from 0, got -8"},
      {step + "/hidden_rel_l2/0", -1, "hidden_rel_l2[0]: expected a number from 0, got -1"},
      {run + "/bytes", -1, "lanes[1].bytes: expected a number from 0, got -1"},
      {run + "/slots", -3, "lanes[1].slots: expected a number from 0, got -3"},
      {event + "/cos", 2.7, "t.json: lanes[1].steps[0].heads[0].events[0].cos: expected a cosine from -1 to 1, got 2.7"},
      {event + "/cos", -1.000001, "no error"},  // by rounding
      {event + "/runner_ups/0/1", -3, "events[0].runner_ups[0][1]: expected a cosine from -1 to 1, got -3"},
      {event + "/weights/0", 1.5, "events[0].weights[0]: expected a share from 0 to 1, got 1.5"},
      {event + "/weights/1", -0.5, "events[0].weights[1]: expected a share from 0 to 1, got -0.5"},
      {merge + "/votes/0", 0, "merges[0].votes[0]: expected a whole number in 1..3, got 0"},
      {merge + "/votes/1", 4, "merges[0].votes[1]: expected a whole number in 1..3, got 4"},
      {merge + "/T", {0.1, 0.2, 0.3}, "merges[0].T: expected none or one number per query head (2), got a list of 3"},
      {head + "/agreement/0", 3, "agreement[0]: expected a whole number in 0..2, got 3"},
      {"/model/head_dim", 16,
       "t.json: lanes[0].kv_bytes: expected 2048, as 4 slots a head of 1 x 2 heads have by head_dim 16 in f64, got 1024"},
      {"/precision", "f32", "lanes[0].kv_bytes: expected 512"},
      {run + "/kv_bytes", 1, "lanes[1].kv_bytes: expected 640, the sum of what the heads of the last step hold, got 1"},
      {run + "/params/sinks", 7, "lanes[1].params.sinks: expected 1, the run's sinks, got 7"},
      {run + "/slots_asked", 99, "lanes[1].params.slots: expected 99, the run's slots_asked"},
      {head + "/recent", 99, "heads[0].recent: expected at most 2: so many slots stay, and these are protected, got 99"},
      {"/lanes/0/slots_asked", 5, "lanes[0].slots_asked: expected -1: it has no budget, got 5"},
      {run + "/slots", 3, "lanes[1].slots: expected 2.5, the mean of what the heads of the last step hold, got 3"},
      {"/follow", "xyz", "t.json: follow: expected reference or self or file, got"},
      {"/precision", "f8", "no error"},  // of another build: nobody knows how large
      {"/model/n_heads", 8, "expected none or one number per query head (4), got a list of 2"},
  };
  const json whole = json::parse(trace_text(sample_run(), {.detail = Detail::why}));
  ASSERT_EQ(message_of(whole.dump()), "no error");
  for (const auto& one : cases) {
    json t = whole;
    t[json::json_pointer(one.at)] = one.value;
    EXPECT_THAT(message_of(t.dump()), HasSubstr(one.said)) << one.at << " " << one.value;
  }
}

TEST(TraceReader, PartsOfAScoreAreAsManyAsTheirSlots) {
  const json::json_pointer parts("/lanes/1/steps/0/heads/0/score_parts");
  const json pos = {0, 1};
  json t = json::parse(changed(parts, {{"pos", pos}, {"terms", {{{"name", "its own"}, {"values", {0.5, 0.25}}}}}}));
  EXPECT_EQ(message_of(t.dump()), "no error");
  for (const json& values : {json::array(), json({0.5})}) {
    t[parts]["terms"][0]["values"] = values;
    EXPECT_THAT(message_of(t.dump()), HasSubstr("score_parts.terms[0].values: expected one number per position (2), got a list of"));
  }
}

TEST(TraceReader, AnAuthorsCodeMayWeighByACosineBelowZero) {
  const json::json_pointer event("/lanes/1/steps/0/heads/0/events/0");
  json t = json::parse(changed(event / "weights", {-0.25, 0.5}));
  EXPECT_THAT(message_of(t.dump()), HasSubstr("events[0].weights[0]: expected a share from 0 to 1"));
  t[event / "form"] = "code";
  EXPECT_EQ(message_of(t.dump()), "no error");
}

TEST(TraceReader, LayersWithWindowsHoldWhatTheyHold) {
  json t = json::parse(changed(json::json_pointer("/lanes/0/kv_bytes"), 900));
  EXPECT_THAT(message_of(t.dump()), HasSubstr("lanes[0].kv_bytes"));
  t["model"]["windows"] = {7};
  EXPECT_EQ(message_of(t.dump()), "no error");
}

TEST(TraceReader, ValuesOfARunAreThoseOfItsSpecification) {
  const json whole = json::parse(trace_text(sample_run(), {.detail = Detail::why}));
  const auto read = [&](const char* spec, const char* policy, const json& params) {
    json t = whole;
    t["lanes"][1].update(json{{"spec", spec}, {"policy", policy}, {"params", params}});
    for (const char* key : {"sinks", "slots_asked"}) t["lanes"][1].erase(key);  // as earlier versions wrote it
    return message_of(t.dump());
  };
  const char* const keepkv = "keepkv:slots=16,sinks=8,threshold=0.80";
  EXPECT_EQ(read(keepkv, "keepkv", {{"slots", 16}, {"sinks", 4}, {"threshold", 0.8}}), "no error")
      << "sinks are at most what there is room for";
  EXPECT_THAT(read(keepkv, "keepkv", {{"slots", 8}}), HasSubstr("lanes[1].params.slots: expected at least 16, as the run"));
  EXPECT_THAT(read(keepkv, "keepkv", {{"sinks", 9}}), HasSubstr("lanes[1].params.sinks: expected at most 8, as the run"));
  EXPECT_THAT(read(keepkv, "keepkv", {{"threshold", 0.5}}), HasSubstr("params.threshold: expected 0.80, as the run"));
  EXPECT_THAT(read("keepkv:slots=16,form=zip", "keepkv", {{"form", "bias"}}), HasSubstr("params.form: expected zip, as the run"));
  EXPECT_EQ(read("keepkv:slots=2", "keepkv", {{"slots", 8}}), "no error") << "raised to what is protected";
  EXPECT_EQ(read("keepkv:ratio=0.5@evict=1,step=1", "keepkv", {{"slots", 16}}), "no error");
  EXPECT_THAT(read("later@evict=1,step=1", "keepkv", json::object()), HasSubstr("policy: expected later, the policy of the run"));
  EXPECT_EQ(read("later:x=1", "later", {{"x", 2}}), "no error") << "of another build: its keys may mean anything";
}

/// A relative error of a prediction can be of any size.
TEST(TraceReader, ReadsATraceWhoseNumberWasTooLarge) {
  Snapshot was = sample_run();
  auto step = std::make_shared<StepRecord>(*was.lanes[1].steps[1]);
  step->heads[0].predictor_rel_error = 2.2e51;
  was.lanes[1].steps[1] = step;
  const Trace is = read_trace(trace_text(was, {.detail = Detail::why}), "t.json");
  EXPECT_TRUE(std::isnan(is.snapshot.lanes[1].steps[1]->heads[0].predictor_rel_error));
  EXPECT_THAT(is.warnings, ::testing::Contains(HasSubstr("predictor_rel_error")));
}

TEST(TraceReader, MakesUpNoMostLikelyToken) {
  json t = json::parse(trace_text(sample_run(), {.detail = Detail::slots}));
  for (json& lane : t["lanes"])
    for (json& step : lane["steps"]) step["logits_top"] = json::array(), step.erase("top1"), step.erase("top1_reference");
  const Trace trace = read_trace(t.dump(), "t.json");
  for (const LaneSnapshot& lane : trace.snapshot.lanes)
    for (const StepPtr& step : lane.steps) EXPECT_EQ(step->top1, -1);
}

TEST(TraceReader, RefusesOtherFiles) {
  EXPECT_THAT(message_of(""), HasSubstr("t.json: expected JSON"));
  EXPECT_THAT(message_of("not json"), HasSubstr("t.json: expected JSON"));
  EXPECT_EQ(message_of("[]"), "t.json: expected a trace of schema kvscope.trace/1, got another kind of file");
  EXPECT_EQ(message_of("{\"schema\":7}"), "t.json: expected a trace of schema kvscope.trace/1, got another kind of file");
  EXPECT_EQ(message_of("{\"schema\":\"kvscope.trace/1\"}"), "t.json: the key 'model' is missing");
  EXPECT_THAT(message_of(std::string(1000000, '[')), HasSubstr("nested"));
  EXPECT_THAT(message_of("{\"schema\":NaN}"), HasSubstr("expected JSON"));
  EXPECT_THAT(message_of("{\"schema\":1e999}"), HasSubstr("expected JSON"));
  const std::string good = trace_text(sample_run());
  EXPECT_THAT(message_of(good + std::string(3, '\0')), HasSubstr("t.json: expected JSON, got something else at byte"));
}

TEST(TraceReader, FailsWithASentenceForEveryTruncatedLength) {
  const std::string text = trace_text(sample_run(), {.detail = Detail::why});
  for (std::size_t n = 0; n + 2 < text.size(); ++n) ASSERT_THAT(message_of(text.substr(0, n)), HasSubstr("t.json: ")) << n;
}

TEST(TraceReader, SurvivesRandomDamage) {
  const std::string text = trace_text(sample_run(), {.detail = Detail::why});
  std::mt19937 random(11);
  const std::string alphabet = "0123456789-.e[]{},:\"ntfx\\ \xC3";
  int read = 0;
  for (int i = 0; i < 4000; ++i) {
    std::string bad = text;
    for (int k = 0; k < 1 + i % 3; ++k) bad[random() % bad.size()] = alphabet[random() % alphabet.size()];
    try {
      const Trace t = read_trace(bad, "t.json");
      (void)trace_text(t.snapshot, {.detail = Detail::why});
      ++read;
    } catch (const Error&) {
    }
  }
  EXPECT_GT(read, 0) << "some damage is harmless (a digit of a number)";
  EXPECT_LT(read, 4000);
}

TEST(TraceReader, RefusesMoreFatesThanMemoryHolds) {
  json t = json::parse(trace_text(sample_run()));
  t["model"] = {{"name", "x"},        {"arch", "llama"}, {"n_layers", 4096}, {"n_heads", 4096},
                {"n_kv_heads", 4096}, {"head_dim", 1},   {"vocab_size", 512}};
  EXPECT_THAT(message_of(t.dump()), HasSubstr("expected none or all 16777216 heads"));
}

TEST(TraceReader, NamesTheFileThatCannotBeRead) {
  try {
    read_trace_file("/nowhere/t.json");
    FAIL();
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), HasSubstr("/nowhere/t.json"));
  }
}

TEST(TraceReader, WhatItDoesNotSayOfBytesIsNotNone) {
  json t = json::parse(trace_text(sample_run()));
  for (json& lane : t["lanes"]) lane.erase("kv_bytes"), lane.erase("bytes");  // as earlier versions wrote it
  const Trace slots = read_trace(t.dump(), "t.json");
  for (const LaneSnapshot& lane : slots.snapshot.lanes) {
    EXPECT_TRUE(std::isnan(lane.kv_bytes)) << lane.spec;
    EXPECT_TRUE(std::isnan(lane.bytes)) << lane.spec;
  }
}

TEST(TraceReader, SaysOfWhatIsWrittenThatItIsTooLargeToRead) {
  EXPECT_EQ(too_large_to_read(kMaxTraceBytes), "");
  EXPECT_THAT(too_large_to_read(kMaxTraceBytes + (std::uintmax_t(3) << 20)), ::testing::StartsWith("its 515 MiB are more than the 512"));
}

}  // namespace
}  // namespace kvscope
