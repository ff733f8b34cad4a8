// SPDX-License-Identifier: Apache-2.0
// float32 decides as float64 wherever the scores differ by more than 1e-5, relative (a few texts; tests/bench/precision_bench has fifty).
#include <iostream>

#include "decisions.h"
#include "policy/catalog.h"
#include "runs.h"

namespace kvscope {
namespace {

using namespace kvscope::testing;

class Precision : public ::testing::TestWithParam<PromptMode> {};
INSTANTIATE_TEST_SUITE_P(Modes, Precision, ::testing::Values(PromptMode::prefill, PromptMode::stream),
                         [](const auto& mode) { return mode.param == PromptMode::prefill ? "prefill" : "stream"; });

TEST_P(Precision, DecisionsAreThoseOfFloat64WhereScoresAreApart) {
  Session exact = open_session(embedded_model()), single = open_session(embedded_model(), DType::f32);
  RunRequest request;
  request.lanes = parse_lane_specs({"h2o:slots=20", "tova:slots=20", "snapkv:slots=20", "pyramidinfer:slots=20", "knorm:slots=20",
                                    "weightedkv:slots=20", "keepkv:slots=20"});
  request.mode = GetParam();
  request.follow = Follow::file;
  request.follow_ids = random_ids(8, 2048, 77);
  request.n_generate = -1;
  request.measures = {.local = false, .runner_ups = true};
  request.history = false;
  DecisionCount all;
  for (const char* text :
       {"The old man walked slowly along the shore and looked at the grey water, thinking of the ship that had left.",
        "It was the best of times and it was the worst of times, and nobody in the village knew which of the two had come first."}) {
    request.prompt = text;
    const Snapshot a = run(exact, request), b = run(single, request);
    for (std::size_t lane = 1; lane < a.lanes.size(); ++lane) {
      const DecisionCount n = compare_decisions(a.lanes[lane], b.lanes[lane]);
      EXPECT_EQ(n.wide, 0) << n.where << ": margin " << n.widest;
      all.add(n);
    }
  }
  EXPECT_GT(all.compared, 1000);
  std::cout << all.different << " of " << all.compared << " decisions differ; widest margin among them " << all.widest << "\n";
  RecordProperty("different", static_cast<int>(all.different));
}

}  // namespace
}  // namespace kvscope
