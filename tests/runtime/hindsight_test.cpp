// SPDX-License-Identifier: Apache-2.0
// Lanes that look at what comes next: the full cache runs ahead of them, and nothing depends on how a run came about.
#include <gtest/gtest.h>

#include <numeric>

#include "policy/catalog.h"
#include "runs.h"
#include "runtime/lane/query_tape.h"

namespace kvscope {
namespace {

using namespace kvscope::testing;

const char* const kLane = "best:slots=10,sinks=1,horizon=4";

RunRequest hindsight_request(std::vector<int> ids, PromptMode mode, int n_generate, std::vector<std::string> lanes = {kLane}) {
  return request_of(std::move(ids), lanes, mode, n_generate);
}

class Hindsight_ : public ::testing::TestWithParam<PromptMode> {};
INSTANTIATE_TEST_SUITE_P(Modes, Hindsight_, ::testing::Values(PromptMode::prefill, PromptMode::stream),
                         [](const auto& mode) { return mode.param == PromptMode::prefill ? "prefill" : "stream"; });

TEST_P(Hindsight_, ATextThatGoesOnOrEndsEarlierIsDecidedAnew) {
  Session session = open_session(tiny_model());
  const std::vector<int> ids = random_ids(70, 64, 11);
  run(session, hindsight_request(ids, GetParam(), 6));
  for (const int n : {9, 3, 0, 12}) {
    SCOPED_TRACE(n);
    Session fresh = open_session(tiny_model());
    const Snapshot a = run(session, hindsight_request(ids, GetParam(), n)), b = run(fresh, hindsight_request(ids, GetParam(), n));
    ASSERT_EQ(a.lanes[1].steps.size(), b.lanes[1].steps.size());
    for (std::size_t s = 0; s < b.lanes[1].steps.size(); ++s) {
      const StepRecord &x = *a.lanes[1].steps[s], &y = *b.lanes[1].steps[s];
      EXPECT_EQ(x.logits_top, y.logits_top) << s;
      for (std::size_t h = 0; h < y.heads.size(); ++h) {
        EXPECT_EQ(x.heads[h].pos, y.heads[h].pos) << s;
        ASSERT_EQ(x.heads[h].score.size(), y.heads[h].score.size());
        for (std::size_t i = 0; i < y.heads[h].score.size(); ++i) expect_same_number(x.heads[h].score[i], y.heads[h].score[i], "score");
      }
    }
  }
}

TEST_P(Hindsight_, AnotherTextAfterThePromptChangesWhatThePromptKeeps) {
  Session session = open_session(tiny_model());
  RunRequest a = hindsight_request(random_ids(40, 64, 12), GetParam(), -1), b = a;
  a.follow = b.follow = Follow::file;
  a.follow_ids = random_ids(6, 64, 13);
  b.follow_ids = random_ids(6, 64, 14);
  const Snapshot first = run(session, a), second = run(session, b);
  Session fresh = open_session(tiny_model());
  expect_same_run(second, run(fresh, b));
  const auto at_end_of_prompt = [&](const Snapshot& s) {
    std::vector<std::vector<int>> pos;
    for (const HeadRecord& head : s.lanes[1].steps[GetParam() == PromptMode::prefill ? 0 : 39]->heads) pos.push_back(head.pos);
    return pos;
  };
  EXPECT_NE(at_end_of_prompt(first), at_end_of_prompt(second)) << "it looks ahead";
}

TEST_P(Hindsight_, ALaneAddedToARunWithoutHindsightEqualsOneFromTheStart) {
  const std::vector<int> ids = random_ids(50, 64, 15);
  Session later = open_session(tiny_model()), start = open_session(tiny_model());
  run(later, hindsight_request(ids, GetParam(), 5, {"h2o:slots=10"}));
  const RunRequest both = hindsight_request(ids, GetParam(), 5, {"h2o:slots=10", kLane});
  expect_same_run(run(later, both), run(start, both));
  expect_same_run(run(later, hindsight_request(ids, GetParam(), 5, {"h2o:slots=10"})),
                  run(start, hindsight_request(ids, GetParam(), 5, {"h2o:slots=10"})));
}

TEST_P(Hindsight_, TheHistoryItNeedsIsNotShownWhereItIsSwitchedOff) {
  const std::vector<int> ids = random_ids(30, 64, 16);
  Session session = open_session(tiny_model());
  RunRequest request = hindsight_request(ids, GetParam(), 4);
  const Snapshot with = run(session, request);
  request.history = false;
  const Snapshot without = run(session, request);
  EXPECT_EQ(without.lanes[1].steps.back()->heads[0].pos, with.lanes[1].steps.back()->heads[0].pos);
  EXPECT_TRUE(std::isnan(without.lanes[1].steps.back()->heads[0].local_rel_l2));
  EXPECT_TRUE(without.lanes[1].steps.back()->heads[0].reference_attention.empty());
  EXPECT_FALSE(std::isnan(with.lanes[1].steps.back()->heads[0].local_rel_l2));
}

/// Mean over steps after the prompt and heads of the distance from the own full history, projected by W_O.
double mean_perturbation(const LaneSnapshot& lane, int n_prompt_steps) {
  double sum = 0;
  int n = 0;
  for (std::size_t s = static_cast<std::size_t>(n_prompt_steps); s < lane.steps.size(); ++s)
    for (const HeadRecord& head : lane.steps[s]->heads) {
      sum += head.local_l1_wo;
      ++n;
    }
  return sum / n;
}

TEST_P(Hindsight_, PerturbsTheEmbeddedModelLessThanPoliciesThatCannotLookAhead) {
  Session session = open_session(embedded_model(), DType::f32, 2);
  RunRequest request;
  request.prompt =
      "Once upon a time there was a little fox who lived near a river. One day the fox saw a red boat and wanted to sail in it.";
  request.mode = GetParam();
  request.n_generate = 16;
  request.lanes =
      parse_lane_specs({"best:ratio=0.4", "random:ratio=0.4,sinks=4", "h2o:ratio=0.4,sinks=4", "streaming:ratio=0.4,positions=original"});
  const Snapshot out = run(session, request);
  const int n_prompt_steps = GetParam() == PromptMode::prefill ? 1 : out.n_prompt;
  const double best = mean_perturbation(out.lanes[1], n_prompt_steps);
  EXPECT_GT(best, 0) << "nothing was removed";
  for (std::size_t l = 2; l < out.lanes.size(); ++l) EXPECT_LT(best, mean_perturbation(out.lanes[l], n_prompt_steps)) << out.lanes[l].spec;
}

TEST(QueryTape, SaysWhichQueriesComeNext) {
  const ModelConfig config = open_model(tiny_model()).config;
  const auto backend = make_cpu_backend(DType::f64, config, {});
  QueryTape tape(*backend, config);
  tape.set_text(/*n_prompt=*/10, /*n_tokens=*/15);
  EXPECT_EQ(tape.coming(3, 4), (std::vector<int>{4, 5, 6, 7}));
  EXPECT_EQ(tape.coming(12, 4), (std::vector<int>{13, 14})) << "fewer at the end";
  EXPECT_EQ(tape.coming(14, 4), (std::vector<int>{6, 7, 8, 9})) << "none left: the last of the prompt";
  EXPECT_EQ(tape.coming(14, 40).size(), 10u);
}

}  // namespace
}  // namespace kvscope
