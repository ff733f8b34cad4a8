// SPDX-License-Identifier: Apache-2.0
// What a network makes of every token's hidden state: the same however the token came, and still known when it comes back.
#include <algorithm>
#include <cmath>

#include "policy/catalog.h"
#include "runs.h"

namespace kvscope {
namespace {

using namespace kvscope::testing;

const std::string kEveryStep = "custom:stat=kvzap,cadence=every_step,sinks=0,recent=0,slots=";

RunRequest learned_request(std::vector<int> ids, const std::vector<std::string>& lanes, PromptMode mode, int n_generate = 3) {
  return request_of(std::move(ids), lanes, mode, n_generate);
}

/// Statistic of the slot of `pos`; not a number: it has none.
double statistic_of(const HeadRecord& head, int pos) {
  const auto place = std::ranges::find(head.pos, pos);
  return place == head.pos.end() ? NAN : static_cast<double>(head.statistic.at(static_cast<std::size_t>(place - head.pos.begin())));
}

TEST(Learned, ATokenScoresAlikeWithThePromptAndInAStep) {
  Session session = open_session(tiny_model());
  const std::vector<int> ids = random_ids(40, 64, 3);
  const Snapshot whole = run(session, learned_request(ids, {kEveryStep + "900"}, PromptMode::prefill));
  const Snapshot step_by_step = run(session, learned_request(ids, {kEveryStep + "900"}, PromptMode::stream));
  const auto &a = whole.lanes.back().steps.back()->heads, &b = step_by_step.lanes.back().steps.back()->heads;
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t h = 0; h < a.size(); ++h)
    for (int pos = 0; pos < 42; ++pos) {
      ASSERT_TRUE(std::isfinite(statistic_of(a[h], pos))) << h << ' ' << pos;
      EXPECT_NEAR(statistic_of(a[h], pos), statistic_of(b[h], pos), 1e-6) << h << ' ' << pos;
    }
  EXPECT_NE(statistic_of(a[0], 3), statistic_of(a[1], 3)) << "every head has a number of its own";
}

TEST(Learned, WhatComesBackHasTheScoreItHad) {
  for (const PromptMode mode : {PromptMode::prefill, PromptMode::stream}) {
    Session session = open_session(tiny_model());
    const int first = mode == PromptMode::stream ? 20 : 0;
    const std::string by_hand = "@evict=5,step=" + std::to_string(first + 1) + "@restore=5,step=" + std::to_string(first + 2);
    const Snapshot out = run(session, learned_request(random_ids(20, 64, 3), {kEveryStep + "900" + by_hand}, mode, 5));
    const auto& steps = out.lanes.back().steps;
    const auto at_step = [&](int s) { return statistic_of(steps[static_cast<std::size_t>(first + s)]->heads[0], 5); };
    ASSERT_TRUE(std::isfinite(at_step(0)));
    EXPECT_TRUE(std::isnan(at_step(1))) << "it is gone";
    EXPECT_EQ(at_step(2), at_step(0));
  }
}

TEST(Learned, AnEditOfThePromptReadsAnewWhatFollows) {
  std::vector<int> ids = random_ids(1300, 64, 3), edited = ids;
  edited[1100] = (edited[1100] + 1) % 64;
  const std::vector<std::string> lanes = {"kvzap:slots=100", "kvzap:slots=100,file=kvzap_linear.safetensors", "fastkvzip:slots=100"};
  Session session = open_session(tiny_model(), DType::f64, 2), fresh = open_session(tiny_model(), DType::f64, 2);
  run(session, learned_request(ids, lanes, PromptMode::prefill));
  expect_same_run(run(session, learned_request(edited, lanes, PromptMode::prefill)),
                  run(fresh, learned_request(edited, lanes, PromptMode::prefill)));
}

TEST(Learned, AnotherPolicyMayHaveCompressedThePrompt) {
  Session session = open_session(tiny_model());
  const Snapshot out = run(session, learned_request(random_ids(40, 64, 3),
                                                    {"prefill_decode:prefill=\"snapkv:slots=12,window=4\",decode=\"" + kEveryStep + "12\""},
                                                    PromptMode::prefill));
  for (const HeadRecord& head : out.lanes.back().steps.back()->heads) {
    ASSERT_EQ(head.pos.size(), 12U);
    for (const int pos : head.pos) EXPECT_TRUE(std::isfinite(statistic_of(head, pos)));
  }
}

TEST(Learned, AThresholdMakesTheSizeAnOutcome) {
  Session session = open_session(tiny_model());
  const Snapshot out =
      run(session, learned_request(random_ids(60, 64, 3), {"custom:stat=kvzap,select=threshold,score_threshold=0.2,sinks=0,recent=8"},
                                   PromptMode::prefill, 1));
  std::vector<std::size_t> sizes;
  for (const HeadRecord& head : out.lanes.back().steps.front()->heads) {
    for (const int pos : head.pos) EXPECT_TRUE(pos >= 52 || statistic_of(head, pos) >= 0.2) << pos;
    sizes.push_back(head.pos.size());
  }
  EXPECT_NE(std::ranges::min(sizes), std::ranges::max(sizes));
}

TEST(Learned, AFileOfAnotherModelOrMethodIsRefused) {
  const auto refusal = [](const std::string& model, const std::string& spec) -> std::string {
    try {
      Session session = open_session(model);
      run(session, learned_request({1, 2, 3}, {spec}, PromptMode::prefill, 1));
    } catch (const UsageError& e) {
      return e.what();
    }
    return "";
  };
  const std::string tiny = tiny_model(), embedded = embedded_model();
  const auto expect = [](const std::string& got, const char* words) { EXPECT_NE(got.find(words), std::string::npos) << got; };
  expect(refusal(embedded, "kvzap:slots=2,file=" + tiny + "/kvzap.safetensors"), "expected networks [");
  expect(refusal(embedded, "fastkvzip:slots=2,file=" + tiny + "/fastkvzip.safetensors"), "they are trained for one model");
  expect(refusal(embedded, "lukv:slots=2,file=" + tiny + "/lukv_curves.safetensors"), "they are measured for one model");
  expect(refusal(tiny, "kvzap:slots=2,file=fastkvzip.safetensors"), "expected networks, got another method's scores");
  expect(refusal(tiny, "fastkvzip:slots=8,file=kvzap.safetensors"), "expected gates, got another method's scores");
  expect(refusal(embedded, "kvzap:slots=2"), "its networks are trained for one model");
}

}  // namespace
}  // namespace kvscope
