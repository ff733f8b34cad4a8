// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "policy/catalog.h"
#include "runs.h"

namespace kvscope {
namespace {

using namespace kvscope::testing;

RunRequest decayed_request(std::vector<int> ids, std::vector<std::string> lanes) {
  RunRequest request;
  request.prompt_ids = std::move(ids);
  request.lanes = parse_lane_specs(lanes);
  request.n_generate = 3;
  return request;
}

/// The last lane of a run, alone with the reference.
Snapshot only_last(Snapshot s) {
  s.lanes.erase(s.lanes.begin() + 1, s.lanes.end() - 1);
  return s;
}

TEST(DecayedSums, LanesWithDifferentWeightsShareOnePrompt) {
  const std::vector<int> ids = random_ids(150, 64, 1);  // over two chunks
  const std::string fast = "zeromerge:slots=12,lambda=0.5", slow = "zeromerge:slots=12,lambda=0.99";
  Session together = open_session(tiny_model()), alone = open_session(tiny_model());
  const Snapshot both = run(together, decayed_request(ids, {fast, slow}));
  EXPECT_NE(both.lanes[1].steps[0]->heads[0].score, both.lanes[2].steps[0]->heads[0].score);
  expect_same_run(only_last(both), run(alone, decayed_request(ids, {slow})));
}

TEST(DecayedSums, AWeightThatNobodyAskedForBeforeIsGatheredAnew) {
  std::vector<int> ids = random_ids(150, 64, 2);
  const std::string fast = "zeromerge:slots=12,lambda=0.5", slow = "zeromerge:slots=12,lambda=0.99";
  Session edited = open_session(tiny_model());
  run(edited, decayed_request(ids, {slow}));
  ids[140] = (ids[140] + 1) % 64;  // would restart in the last chunk
  Session fresh = open_session(tiny_model());
  expect_same_run(run(edited, decayed_request(ids, {fast})), run(fresh, decayed_request(ids, {fast})));
  ids[149] = (ids[149] + 1) % 64;
  Session other = open_session(tiny_model());
  expect_same_run(run(edited, decayed_request(ids, {slow, fast})), run(other, decayed_request(ids, {slow, fast})));
}

TEST(DecayedSums, WhatCollectsIsRecordedAndIsNoPartOfTheCutoff) {
  Session session = open_session(tiny_model());
  RunRequest request = decayed_request(random_ids(20, 64, 3), {"zeromerge:slots=12,sinks=2,recent=3,residual=2"});
  request.mode = PromptMode::stream;
  const Snapshot s = run(session, request);
  int n_sent = 0, n_collecting = 0;
  for (const StepPtr& step : s.lanes[1].steps)
    for (const HeadRecord& head : step->heads) {
      double least = kNotAvailable;
      for (std::size_t i = 0; i < head.score.size(); ++i) {
        const bool collects = std::ranges::binary_search(head.residual, head.pos[i]);
        if (!collects && !std::isnan(head.score[i])) least = std::fmin(least, head.score[i]);
      }
      for (const int pos : head.to_residual) {
        ++n_sent;
        EXPECT_TRUE(std::ranges::binary_search(head.residual, pos)) << pos;
      }
      if (!head.events.empty()) {
        ++n_collecting;
        EXPECT_EQ(head.residual.size(), 2u);
        EXPECT_EQ(head.cutoff, least) << "step " << step->step;
      }
    }
  const int n_heads = s.model.n_layers * s.model.n_kv_heads;
  EXPECT_EQ(n_sent, 2 * n_heads);
  EXPECT_GT(n_collecting, 5 * n_heads);
}

}  // namespace
}  // namespace kvscope
