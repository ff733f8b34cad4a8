// SPDX-License-Identifier: Apache-2.0
#include "trace/trace_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include <nlohmann/json.hpp>

#include "tests/trace/sample_run.h"
#include "trace/json_text.h"

namespace kvscope {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

json parsed(const Snapshot& s, Detail detail = Detail::slots) { return json::parse(trace_text(s, {.detail = detail, .seed = 5})); }

StepRecord& step_of(Snapshot& s, int lane, int step) {
  auto copy = std::make_shared<StepRecord>(*s.lanes[lane].steps[step]);
  StepRecord& out = *copy;
  s.lanes[lane].steps[step] = std::move(copy);
  return out;
}

TEST(TraceWriter, WritesTheTopOfTheSchema) {
  const json t = parsed(sample_run());
  EXPECT_EQ(t["schema"], "kvscope.trace/1");
  const json model = {{"name", "hand"},  {"arch", "llama"}, {"n_layers", 1},    {"n_heads", 4},
                      {"n_kv_heads", 2}, {"head_dim", 8},   {"vocab_size", 512}};
  for (const auto& [key, value] : model.items()) EXPECT_EQ(t["model"][key], value) << key;
  EXPECT_EQ(t["device"], "cpu") << "neither instruction set nor number of threads: the same run gives the same bytes";
  EXPECT_EQ(t["precision"], "f64");
  EXPECT_EQ(t["prompt_mode"], "prefill");
  EXPECT_EQ(t["follow"], "reference");
  EXPECT_EQ(t["seed"], 5);
  EXPECT_EQ(t["tokens"], json({1, 300, 17, 9}));
  EXPECT_EQ(t["n_prompt"], 3);
  EXPECT_FALSE(t.contains("warnings"));
}

TEST(TraceWriter, PutsEveryStepAndEveryHeadOnALineOfItsOwn) {
  const std::string text = trace_text(sample_run());
  EXPECT_THAT(
      text,
      HasSubstr(
          "\n{\"step\":0,\"position\":2,\"next_token\":9,\"nll\":2.31,\"kl\":0.1,\"top1_same\":false,\"logits_top\":[[17,9.1],[4,8.7],"
          "[9,0.3333333333333333]],\"top1\":17,\"top1_reference\":4,\"top_tokens\":["));
  EXPECT_THAT(text, HasSubstr("],\"hidden_rel_l2\":[0.0625],\"heads\":[\n"));
  EXPECT_THAT(text,
              HasSubstr("\n{\"layer\":0,\"kv_head\":1,\"budget\":2,\"slots\":[[1,2,0.81],[2,1,null]],\"events\":[{\"kind\":\"merge\","
                        "\"pos\":0,\"into\":1,"
                        "\"weights\":[0.31,0.69],\"score\":0.2,\"form\":\"zip\",\"cos\":0.9,\"gamma\":0.97}],\"compress_rel_l2\":1e-07,"
                        "\"local_rel_l2\":0.013,\"local_l1_wo\":0.4,\"attention_loss\":0.02,\"theta\":0.5,"
                        "\"predictor_error\":0.25,\"predictor_rel_error\":0.375,\"recent\":1,\"evicted_votes\":0,\"cutoff\":0.81}"));
  EXPECT_EQ(text.back(), '\n');
}

TEST(TraceWriter, TurnsParametersIntoNumbersWhereTheyAreNumbers) {
  EXPECT_EQ(parsed(sample_run())["lanes"][1]["params"], json({{"slots", 2}, {"threshold", 0.25}, {"form", "zip"}, {"scores", "1.5.json"}}));
}

TEST(TraceWriter, LeavesNextTokenAndNllOfTheLastStepNull) {
  const json last = parsed(sample_run())["lanes"][0]["steps"][1];
  EXPECT_TRUE(last["next_token"].is_null());
  EXPECT_TRUE(last["nll"].is_null());
}

TEST(TraceWriter, WritesNoBudgetAsNull) { EXPECT_TRUE(parsed(sample_run())["lanes"][0]["steps"][0]["heads"][0]["budget"].is_null()); }

TEST(TraceWriter, WritesOnlyWhatAnEventKnows) {
  const json heads = parsed(sample_run())["lanes"][1]["steps"][1]["heads"];
  EXPECT_EQ(heads[0]["events"][0], json({{"kind", "evict"}, {"pos", 2}, {"score", 0.125}}));
  EXPECT_EQ(heads[1]["events"][0],
            json({{"kind", "merge"}, {"pos", 2}, {"into", 1}, {"weights", {0.5, 0.5}}, {"form", "bias"}, {"fallback", true}}));
}

TEST(TraceWriter, WritesTheSpreadingOfAValueBeforeTheEviction) {
  Snapshot s = sample_run();
  StepRecord step = *s.lanes[1].steps[1];
  step.heads[0].events[0].spread = {0, 3};
  step.heads[0].merge_theta = 0.5;
  s.lanes[1].steps[1] = std::make_shared<StepRecord>(step);
  const json heads = parsed(s)["lanes"][1]["steps"][1]["heads"];
  EXPECT_EQ(heads[0]["events"],
            json::parse(R"([{"kind":"spread","pos":2,"into":[0,3],"weights":[0.5,1]},{"kind":"evict","pos":2,"score":0.125}])"));
  EXPECT_EQ(heads[0]["merge_theta"], 0.5);
  EXPECT_FALSE(heads[1].contains("merge_theta"));
}

TEST(TraceWriter, DropsHeadsForSummaryAndSlotsForEvents) {
  EXPECT_FALSE(parsed(sample_run(), Detail::summary)["lanes"][1]["steps"][0].contains("heads"));
  const json head = parsed(sample_run(), Detail::events)["lanes"][1]["steps"][0]["heads"][0];
  EXPECT_FALSE(head.contains("slots"));
  EXPECT_EQ(head["events"].size(), 1u);
  const json slots = parsed(sample_run(), Detail::slots)["lanes"][1]["steps"][0]["heads"][0];
  EXPECT_FALSE(slots.contains("attention"));
  EXPECT_FALSE(slots.contains("stats"));
}

TEST(TraceWriter, DetailWhyCarriesStatisticsAttentionAndTheNumbersOfEveryMerge) {
  const json step = parsed(sample_run(), Detail::why)["lanes"][1]["steps"][0];
  EXPECT_EQ(step["logits_top"][0], json({17, 9.1, 0.5, 0.25})) << "token, logit, probability in the lane and in the reference";
  EXPECT_EQ(step["logits_top"][2], json({9, 1.0 / 3.0, nullptr, nullptr})) << "not among the candidates";
  const json head = step["heads"][0];
  EXPECT_EQ(head["stats"], json({{"value", {0.7, 0.2}}, {"bias", {0.6931471805599453, 0.0}}}));
  EXPECT_EQ(head["attended"], json({0, 1, 2}));
  EXPECT_EQ(head["attention"], json({0.5, 0.25, 0.1}));
  EXPECT_EQ(head["reference_attention"], json({0.125, 0.125, 0.125}));
  EXPECT_EQ(head["merges"][0]["T"], json({0.1, 0.2}));
  EXPECT_EQ(head["merges"][0]["mu"], json({0.6, 0.3}));
  EXPECT_EQ(head["merges"][0]["gamma"], 0.97);
}

TEST(TraceWriter, WritesNoNumberThatIsNotFiniteAndWarns) {
  Snapshot s = sample_run();
  step_of(s, 1, 0).kl = std::numeric_limits<double>::infinity();
  StepRecord& second = step_of(s, 1, 1);
  second.logits_top[1].second = kNotAvailable;
  second.heads[0].events[0].score = -std::numeric_limits<double>::infinity();
  second.heads[1].events[0].w_target = kNotAvailable;
  const std::string text = trace_text(s);
  EXPECT_THAT(text, Not(HasSubstr("nan")));
  EXPECT_THAT(text, Not(HasSubstr("inf")));
  const json t = json::parse(text);
  EXPECT_TRUE(t["lanes"][1]["steps"][0]["kl"].is_null());
  EXPECT_EQ(t["warnings"], json({"kl was not measured, or not a number that 32 bits can hold, in at least one place",
                                 "logits_top was not measured, or not a number that 32 bits can hold, in at least one place",
                                 "score was not measured, or not a number that 32 bits can hold, in at least one place",
                                 "weights was not measured, or not a number that 32 bits can hold, in at least one place"}));
}

TEST(TraceWriter, SaysThatLocalFiguresWereNotMeasured) {
  Snapshot s = sample_run();
  s.history = false;
  for (const int step : {0, 1}) {
    for (HeadRecord& h : step_of(s, 1, step).heads) h.local_rel_l2 = h.local_l1_wo = h.attention_loss = kNotAvailable;
  }
  const json t = parsed(s);
  EXPECT_TRUE(t["lanes"][1]["steps"][0]["heads"][0]["local_rel_l2"].is_null());
  EXPECT_EQ(t["warnings"].size(), 3u);
  EXPECT_THAT(t["warnings"].dump(), HasSubstr("local_rel_l2"));
}

TEST(TraceWriter, StaysUtf8WhateverTheTextHolds) {
  Snapshot s = sample_run();
  s.model.name = "\xFF\xFEmodel";
  s.prompt = "cut \xE2\x82";
  s.lanes[1].spec = "x:\xC3";
  const std::string text = trace_text(s, {.detail = Detail::why});
  EXPECT_TRUE(is_utf8(text));
  EXPECT_EQ(json::parse(text)["token_texts"], json({{{"special", "<s>"}}, {{"hex", "636166c3"}}, {{"hex", "a9"}}, " \"x\"\n"}));
}

TEST(TraceWriter, StopsWhenCancelled) {
  CancelToken token;
  token.cancel();
  EXPECT_THROW(trace_text(sample_run(), {.cancel = &token}), Cancelled);
}

TEST(TraceWriter, TakesTheNoticeOfTheRunIntoTheWarnings) {
  Snapshot s = sample_run();
  s.notice = "generation ends after 1 tokens";
  EXPECT_EQ(parsed(s)["warnings"], json({"generation ends after 1 tokens"}));
}

}  // namespace
}  // namespace kvscope
