// SPDX-License-Identifier: Apache-2.0
// reload=R: the cache is made anew from the uncompressed history, as a prefill of the same tokens would leave it.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "policy/catalog.h"
#include "runs.h"
#include "snapshot/fates.h"

namespace kvscope {
namespace {

using namespace kvscope::testing;

RunRequest reloaded_request(std::vector<int> ids, std::vector<std::string> lanes, PromptMode mode, std::vector<int> follow) {
  RunRequest request;
  request.prompt_ids = std::move(ids);
  request.lanes = parse_lane_specs(lanes);
  request.mode = mode;
  request.follow = Follow::file;
  request.follow_ids = std::move(follow);
  request.n_generate = static_cast<int>(request.follow_ids.size());
  return request;
}

class Reload : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Bases, Reload,
                         ::testing::Values("base=window", "base=window,predict=window", "base=h2o", "base=snapkv,window=4,kernel=1",
                                           "base=window,form=zip", "base=window,predict=current"),
                         [](const auto& base) { return std::to_string(base.index); });

// Queries, keys and values of layer 0 do not depend on any cache, so that there a reload after step s must equal a prefill of the same
// tokens.
TEST_P(Reload, EqualsAPrefillOfTheSameTokens) {
  const std::vector<int> ids = random_ids(100, 64, 21), more = random_ids(31, 64, 22);
  constexpr int kEvery = 30;
  const std::string lane = std::string("keepkv:slots=24,threshold=0.3,") + GetParam();
  Session session = open_session(tiny_model());
  const Snapshot reloaded = run(session, reloaded_request(ids, {lane + ",reload=" + std::to_string(kEvery)}, PromptMode::prefill, more));
  const Snapshot without = run(session, reloaded_request(ids, {lane}, PromptMode::prefill, more));
  std::vector<int> whole = ids;  // after step s the cache has seen the prompt and s tokens
  whole.insert(whole.end(), more.begin(), more.begin() + kEvery);
  Session fresh = open_session(tiny_model());
  const Snapshot prefill = run(fresh, reloaded_request(whole, {lane}, PromptMode::prefill, {}));

  const StepRecord &got = *reloaded.lanes[1].steps[kEvery], &want = *prefill.lanes[1].steps[0], &other = *without.lanes[1].steps[kEvery];
  bool differs = false;
  for (int h = 0; h < session.config().n_kv_heads; ++h) {
    SCOPED_TRACE(h);
    const HeadRecord &a = got.heads[h], &b = want.heads[h];
    EXPECT_EQ(a.pos, b.pos);
    EXPECT_EQ(a.votes, b.votes);
    EXPECT_EQ(a.evicted_votes, b.evicted_votes);
    ASSERT_EQ(a.score.size(), b.score.size());
    for (std::size_t i = 0; i < a.score.size(); ++i) expect_same_number(a.score[i], b.score[i], "score");
    ASSERT_EQ(a.bias.size(), b.bias.size());
    for (std::size_t i = 0; i < a.bias.size(); ++i) EXPECT_EQ(a.bias[i], b.bias[i]);
    differs |= other.heads[h].pos != b.pos || other.heads[h].votes != b.votes;
  }
  EXPECT_TRUE(differs) << "without a reload the cache would have been the same: the test shows nothing";
}

TEST_P(Reload, TheRecordsReplayToTheSameCaches) {
  for (const PromptMode mode : {PromptMode::prefill, PromptMode::stream}) {
    Session session = open_session(tiny_model());
    const Snapshot out =
        run(session, reloaded_request(random_ids(60, 64, 23), {std::string("keepkv:slots=16,threshold=0.2,reload=7,") + GetParam()}, mode,
                                      random_ids(20, 64, 24)));
    const LaneSnapshot& lane = out.lanes[1];
    const LaneFates fates = derive_fates(lane.steps, static_cast<int>(lane.steps[0]->heads.size()));
    int restored = 0;
    for (const StepPtr& step : lane.steps) {
      for (std::size_t h = 0; h < step->heads.size(); ++h) {
        const HeadRecord& head = step->heads[h];
        EXPECT_EQ(std::accumulate(head.votes.begin(), head.votes.end(), head.evicted_votes), step->position + 1);
        restored += static_cast<int>(std::ranges::count(head.events, Event::Kind::restore, &Event::kind));
        std::vector<int> alive;
        for (int t = 0; t <= step->position; ++t)
          if (fate_at(fates.heads[h], t, step->step).left > step->step) alive.push_back(t);
        EXPECT_EQ(alive, head.pos) << "step " << step->step << " head " << h;
      }
    }
    EXPECT_GT(restored, 0);
  }
}

TEST(Reload, WithRoomForEverythingNothingChanges) {
  Session session = open_session(tiny_model());
  const Snapshot out =
      run(session, reloaded_request(random_ids(70, 64, 25), {"keepkv:slots=500,reload=3"}, PromptMode::prefill, random_ids(10, 64, 26)));
  for (const StepPtr& step : out.lanes[1].steps) {
    EXPECT_EQ(step->kl, 0);
    for (const HeadRecord& head : step->heads) EXPECT_TRUE(head.events.empty());
  }
}

TEST(Reload, EditsAndForksOfStepsRunLikeAFreshRun) {
  const std::vector<std::string> lanes = {"keepkv:slots=20,threshold=0.3,reload=5", "h2o:slots=20"};
  for (const PromptMode mode : {PromptMode::prefill, PromptMode::stream}) {
    Session session = open_session(tiny_model());
    std::vector<int> ids = random_ids(150, 64, 27), more = random_ids(12, 64, 28);
    run(session, reloaded_request(ids, lanes, mode, more));
    for (const int place : {149, 80, 3}) {
      SCOPED_TRACE(place);
      ids[place] = (ids[place] + 7) % 64;
      Session fresh = open_session(tiny_model());
      const RunRequest request = reloaded_request(ids, lanes, mode, more);
      expect_same_run(run(session, request), run(fresh, request));
    }
  }
}

}  // namespace
}  // namespace kvscope
