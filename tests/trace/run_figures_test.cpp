// SPDX-License-Identifier: Apache-2.0
// The figures of a run are what the steps of its trace come to: plain loops over the JSON, five runs on three prompts in both prompt modes.
#include <gtest/gtest.h>

#include <cmath>

#include <nlohmann/json.hpp>

#include "policy/catalog.h"
#include "runtime/runs.h"
#include "snapshot/figures.h"
#include "trace/trace_reader.h"
#include "trace/trace_writer.h"

namespace kvscope {
namespace {

using namespace kvscope::testing;
using Json = nlohmann::json;

double mean(const Json& steps, int from_position, const char* key) {
  double sum = 0;
  int n = 0;
  for (const Json& step : steps) {
    if (step.at("position").get<int>() < from_position || !step.contains(key) || step[key].is_null()) continue;
    sum += step[key].is_boolean() ? (step[key].get<bool>() ? 1.0 : 0.0) : step[key].get<double>();
    ++n;
  }
  return sum / n;
}

double mean_of_heads(const Json& steps, int from_position, const char* key) {
  double sum = 0;
  int n = 0;
  for (const Json& step : steps) {
    if (step.at("position").get<int>() < from_position) continue;
    double heads = 0;
    for (const Json& head : step.at("heads")) heads += head.at(key).get<double>();
    sum += heads / static_cast<double>(step.at("heads").size());
    ++n;
  }
  return sum / n;
}

class FiguresOfATrace : public ::testing::TestWithParam<PromptMode> {};

TEST_P(FiguresOfATrace, AreThoseOfItsStepsAfterThePrompt) {
  Session session = open_session(tiny_model());
  for (const int seed : {3, 4, 5}) {
    RunRequest request;
    request.prompt_ids = random_ids(30, 64, seed);
    request.mode = GetParam();
    request.n_generate = 8;
    request.lanes = parse_lane_specs({"streaming:slots=8", "h2o:slots=8", "snapkv:slots=8", "keepkv:slots=8"});
    const Snapshot result = run(session, request);
    const std::string text = trace_text(result, {.detail = Detail::why});
    const Json json = Json::parse(text);
    const Trace read = read_trace(text, "run.json");
    const int from = GetParam() == PromptMode::prefill ? 30 : 0;
    ASSERT_EQ(json.at("lanes").size(), 5u);
    for (std::size_t l = 0; l < 5; ++l) {
      const Json& lane = json["lanes"][l];
      const Json& steps = lane.at("steps");
      const std::string where = lane.at("spec").get<std::string>() + " seed " + std::to_string(seed);
      for (const Snapshot* s : {&result, &read.snapshot}) {
        const RunFigures f = run_figures(*s, s->lanes[l]);
        EXPECT_EQ(f.n_steps, from > 0 ? 8 : 38) << where;
        EXPECT_NEAR(f.kl.mean(), mean(steps, from, "kl"), 1e-12) << where;
        EXPECT_NEAR(f.nll.mean(), mean(steps, from, "nll"), 1e-12) << where;
        EXPECT_NEAR(f.top1_share(), mean(steps, from, "top1_same"), 1e-12) << where;
        EXPECT_NEAR(f.attention_loss.mean(), mean_of_heads(steps, from, "attention_loss"), 1e-12) << where;
        EXPECT_NEAR(f.local_rel_l2.mean(), mean_of_heads(steps, from, "local_rel_l2"), 1e-12) << where;
        EXPECT_NEAR(f.local_l1_wo.mean(), mean_of_heads(steps, from, "local_l1_wo"), 1e-12) << where;
        EXPECT_EQ(f.bytes, lane.at("kv_bytes").get<double>()) << where;
        EXPECT_EQ(f.allocated, lane.at("bytes").get<double>()) << where;
        EXPECT_EQ(f.slots, lane.at("slots").get<double>()) << where;
      }
      if (l > 0) {
        EXPECT_GT(mean(steps, from, "kl"), 0) << where << ": nothing differs, so nothing is tested";
      }
      if (l > 0 && from > 0) {
        EXPECT_NE(mean(steps, 0, "kl"), mean(steps, from, "kl")) << where << ": the prompt's step would not show";
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Modes, FiguresOfATrace, ::testing::Values(PromptMode::prefill, PromptMode::stream),
                         [](const auto& mode) { return std::string(mode.param == PromptMode::prefill ? "prefill" : "stream"); });

}  // namespace
}  // namespace kvscope
