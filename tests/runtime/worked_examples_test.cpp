// SPDX-License-Identifier: Apache-2.0
// Worked examples of POLICIES.md section 11 that speak about whole runs: which tokens are kept, and which policies coincide.
#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <numeric>

#include "policy/catalog.h"
#include "runs.h"

namespace kvscope {
namespace {

using namespace kvscope::testing;
using ::testing::ElementsAre;

Snapshot example_run(const std::vector<std::string>& lanes, int n_prompt, PromptMode mode, int n_generate = 0) {
  Session session = open_session(tiny_model());
  RunRequest request;
  request.prompt_ids = random_ids(n_prompt, 64, 9);
  request.lanes = parse_lane_specs(lanes);
  request.mode = mode;
  request.n_generate = n_generate;
  return run(session, request);
}

void expect_same_kept(const LaneSnapshot& a, const LaneSnapshot& b) {
  ASSERT_EQ(a.steps.size(), b.steps.size());
  for (std::size_t s = 0; s < a.steps.size(); ++s)
    for (std::size_t h = 0; h < a.steps[s]->heads.size(); ++h)
      EXPECT_EQ(a.steps[s]->heads[h].pos, b.steps[s]->heads[h].pos) << b.spec << " step " << s << " head " << h;
}

TEST(WorkedExamples, TheFullCacheKeepsEveryTokenAndAgreesWithItself) {
  const Snapshot s = example_run({}, 30, PromptMode::stream);
  for (const StepPtr& step : s.lanes[0].steps) {
    EXPECT_EQ(step->kl, 0);
    for (const HeadRecord& head : step->heads) EXPECT_EQ(static_cast<int>(head.pos.size()), step->position + 1);
  }
}

TEST(WorkedExamples, LocalKeepsTheLastTokens) {
  const int window = 6;
  const Snapshot s = example_run({"local:slots=6"}, 20, PromptMode::stream);
  for (const StepPtr& step : s.lanes[1].steps) {
    std::vector<int> want(static_cast<std::size_t>(std::min(step->position + 1, window)));
    std::iota(want.begin(), want.end(), std::max(0, step->position + 1 - window));
    for (const HeadRecord& head : step->heads) EXPECT_EQ(head.pos, want) << step->position;
  }
}

TEST(WorkedExamples, StreamingWithTwoSinksAndThreeRecentOfEightTokens) {
  const Snapshot s = example_run({"streaming:slots=5,sinks=2", "streaming:slots=5,sinks=2,positions=original"}, 9, PromptMode::stream);
  for (const std::size_t lane : {std::size_t{1}, std::size_t{2}})
    for (const HeadRecord& head : s.lanes[lane].steps[7]->heads) EXPECT_THAT(head.pos, ElementsAre(0, 1, 5, 6, 7));
  // where the query stands, at its cache index or at its own position, makes no difference until the first removal
  for (int t = 0; t < 9; ++t) {
    const auto &cache = s.lanes[1].steps[t]->logits_top, &original = s.lanes[2].steps[t]->logits_top;
    if (t <= 5)
      EXPECT_EQ(cache, original) << t;
    else
      EXPECT_NE(cache, original) << t;
  }
}

TEST(WorkedExamples, LmInfiniteIsTheFullCacheAsLongAsTheWindowHoldsTheText) {
  const Snapshot s = example_run({"lm_infinite:slots=16,sinks=4"}, 24, PromptMode::stream);
  for (const StepPtr& step : s.lanes[1].steps) {
    if (step->position <= 16)
      EXPECT_EQ(step->logits_top, s.lanes[0].steps[step->step]->logits_top) << step->position;
    else
      EXPECT_GT(step->kl, 0) << step->position;
  }
}

TEST(WorkedExamples, LmInfiniteSeesAllFarSinksAtOneDistance) {
  // layer 0, whose keys depend on their own token alone: with the first two tokens exchanged, each is seen as before, from the other place
  Session session = open_session(tiny_model());
  std::vector<int> ids = random_ids(40, 64, 9);
  ids[0] = 3;
  ids[1] = 11;
  const auto late_attention = [&](const std::string& lane) {
    RunRequest request;
    request.prompt_ids = ids;
    request.lanes = parse_lane_specs({lane});
    request.mode = PromptMode::stream;
    const Snapshot s = run(session, request);
    std::vector<std::vector<float>> out;
    for (int h = 0; h < session.config().n_kv_heads; ++h) out.push_back(s.lanes[1].steps.back()->heads[h].attention);
    return out;
  };
  for (const bool at_one_distance : {true, false}) {
    const std::string lane = at_one_distance ? "lm_infinite:slots=10,sinks=2" : "streaming:slots=10,sinks=2,positions=original";
    const auto before = late_attention(lane);
    std::swap(ids[0], ids[1]);
    auto after = late_attention(lane);
    for (std::size_t h = 0; h < after.size(); ++h) {
      std::swap(after[h][0], after[h][1]);
      if (at_one_distance)
        EXPECT_THAT(after[h], ::testing::Pointwise(::testing::FloatNear(1e-6f), before[h]));
      else
        EXPECT_GT(std::abs(after[h][0] - before[h][0]), 1e-4f) << "at their own distances the place matters";
    }
  }
}

TEST(WorkedExamples, HeavyHittersShareOneQueryOfAttentionPerQuery) {
  // every row adds up to 1 over the slots it saw, so what stands and what went add up to the number of queries
  const Snapshot s = example_run({"h2o:slots=8"}, 40, PromptMode::stream);
  std::vector<double> gone(s.lanes[1].steps[0]->heads.size(), 0.0);
  for (const StepPtr& step : s.lanes[1].steps) {
    for (std::size_t h = 0; h < gone.size(); ++h) {
      const HeadRecord& head = step->heads[h];
      for (const Event& e : head.events) gone[h] += e.score;
      const double stands = std::accumulate(head.statistic.begin(), head.statistic.end(), 0.0);
      EXPECT_NEAR(stands + gone[h], step->position + 1, 1e-9) << "step " << step->step << " head " << h;
    }
  }
}

TEST(WorkedExamples, SnapKvKeepsExactlyItsCapacityOrEverything) {
  const Snapshot s = example_run({"snapkv:slots=20,window=8", "snapkv:slots=60,window=8"}, 50, PromptMode::prefill);
  for (const HeadRecord& head : s.lanes[1].steps[0]->heads) EXPECT_EQ(head.pos.size(), 20u);
  for (const HeadRecord& head : s.lanes[2].steps[0]->heads) EXPECT_EQ(head.pos.size(), 50u);
}

TEST(WorkedExamples, AdaKvWithTheWholeBudgetSafeIsSnapKv) {
  const Snapshot s = example_run({"snapkv:slots=20,window=8", "adakv:slots=20,window=8,alpha=1"}, 50, PromptMode::prefill, 3);
  expect_same_kept(s.lanes[1], s.lanes[2]);
}

TEST(WorkedExamples, HeadKvWithEqualImportanceIsSnapKv) {
  const auto file = std::filesystem::path(::testing::TempDir()) / ("kvscope-equal-" + std::to_string(getpid()) + ".json");
  const Snapshot probe = example_run({}, 2, PromptMode::prefill);
  std::string text;
  for (int l = 0; l < probe.model.n_layers; ++l) {
    text += l ? ",[1" : "[[1";
    for (int g = 1; g < probe.model.n_heads; ++g) text += ",1";
    text += "]";
  }
  std::ofstream(file) << text << "]";
  const Snapshot s =
      example_run({"snapkv:slots=20,window=8", "headkv:slots=20,window=8,scores=" + file.string()}, 50, PromptMode::prefill, 3);
  std::filesystem::remove(file);
  expect_same_kept(s.lanes[1], s.lanes[2]);
}

TEST(WorkedExamples, PyramidInferWithoutDecayGivesEveryLayerTheSame) {
  const Snapshot s = example_run({"pyramidinfer:slots=20,decay=1"}, 50, PromptMode::prefill);
  for (const HeadRecord& head : s.lanes[1].steps[0]->heads) EXPECT_EQ(head.pos.size(), 20u);
}

TEST(WorkedExamples, DuoAttentionIsTheFullCacheOrStreamingAtItsEnds) {
  const Snapshot s = example_run({"duo:slots=12,sinks=4,recent=8,sparsity=0", "duo:slots=12,sinks=4,recent=8,sparsity=1",
                                  "streaming:slots=12,sinks=4,positions=original"},
                                 40, PromptMode::prefill, 4);
  expect_same_kept(s.lanes[0], s.lanes[1]);
  for (const StepPtr& step : s.lanes[1].steps) EXPECT_EQ(step->kl, 0);
  expect_same_kept(s.lanes[2], s.lanes[3]);
  for (std::size_t i = 0; i < s.lanes[2].steps.size(); ++i) EXPECT_EQ(s.lanes[2].steps[i]->logits_top, s.lanes[3].steps[i]->logits_top);
}

}  // namespace
}  // namespace kvscope
