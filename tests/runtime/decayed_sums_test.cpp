// SPDX-License-Identifier: Apache-2.0
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

}  // namespace
}  // namespace kvscope
