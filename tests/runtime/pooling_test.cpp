// SPDX-License-Identifier: Apache-2.0
// Runs whose evicted tokens live on in sums that a query reads like one more slot (POLICIES.md section 4.4).
#include <algorithm>
#include <numeric>

#include "policy/catalog.h"
#include "runs.h"

namespace kvscope {
namespace {

using namespace kvscope::testing;

const std::string kTiny = "less:maps=maps.safetensors,slots=";

RunRequest pooled_request(std::vector<int> ids, const std::vector<std::string>& lanes, PromptMode mode, int n_generate = 6) {
  return request_of(std::move(ids), lanes, mode, n_generate);
}

TEST(Pooling, RecordsWhatIsInTheSumsAndWhatAttentionTheyGet) {
  for (const PromptMode mode : {PromptMode::prefill, PromptMode::stream}) {
    Session session = open_session(tiny_model());
    const Snapshot out = run(session, pooled_request(random_ids(40, 64, 3), {kTiny + "12"}, mode));
    for (const StepPtr& step : out.lanes.back().steps)
      for (const HeadRecord& head : step->heads) {
        const int tokens = step->position + 1;
        EXPECT_EQ(head.pooled_tokens, std::max(tokens - 12, 0));
        EXPECT_EQ(head.evicted_votes, head.pooled_tokens);
        const bool reads = tokens - 1 > 12 && (mode == PromptMode::stream || step->step > 0);
        EXPECT_EQ(std::isnan(head.pooled_share), !reads) << step->step;
        const float slots = std::accumulate(head.attention.begin(), head.attention.end(), 0.0F);
        EXPECT_NEAR(slots, reads ? 1 - head.pooled_share : 1, 1e-6) << step->step;
        if (!reads) continue;
        EXPECT_GT(head.pooled_share, 0);
        EXPECT_LT(head.pooled_share, 1);
        EXPECT_TRUE(std::isnan(head.theta)) << "the bound is for what is only evicted";
      }
  }
}

TEST(Pooling, TheBaseDecidesAsItDoesByItselfWhereNothingHasGoneYet) {
  Session session = open_session(tiny_model());
  const Snapshot out = run(session, pooled_request(random_ids(40, 64, 3), {"h2o:slots=12", kTiny + "12"}, PromptMode::prefill));
  const StepRecord &base = *out.lanes[1].steps[0], &less = *out.lanes[2].steps[0];
  for (std::size_t h = 0; h < base.heads.size(); ++h) EXPECT_EQ(base.heads[h].pos, less.heads[h].pos) << h;
  EXPECT_NE(out.lanes[1].steps[1]->kl, out.lanes[2].steps[1]->kl);
}

TEST(Pooling, WhatIsEvictedByHandGoesInAndWhatIsRestoredComesOut) {
  Session session = open_session(tiny_model());
  const Snapshot out =
      run(session, pooled_request(random_ids(20, 64, 3), {kTiny + "900@evict=5,step=0@restore=5,step=2"}, PromptMode::prefill));
  const LaneSnapshot& lane = out.lanes.back();
  for (int s = 0; s < 4; ++s)
    for (const HeadRecord& head : lane.steps[static_cast<std::size_t>(s)]->heads) {
      EXPECT_EQ(head.pooled_tokens, s < 2 ? 1 : 0) << s;
      EXPECT_EQ(std::isnan(head.pooled_share), s == 0 || s == 3) << s;
    }
}

TEST(Pooling, TheEmbeddedModelsMapsSayMoreThanEvictionAloneWithinAsManyBytes) {
  Session session = open_session(embedded_model(), DType::f32, 2);
  RunRequest request;
  request.prompt =
      "It was a cold evening when the two travellers came to the house at the end of the road. Nobody had lived there for years, "
      "the windows were dark, and the garden had grown over the path. They knocked, and waited, and knocked again. At last a "
      "light moved behind the glass, and an old man opened the door and looked at them for a long time without a word.";
  request.n_generate = 48;
  for (const std::string base : {"h2o", "streaming"}) {
    // the sums are 8 x 33 numbers, a slot 64
    request.lanes = parse_lane_specs({base + (base == "h2o" ? ":slots=29" : ":slots=29,positions=original"), "less:slots=24,base=" + base});
    const Snapshot out = run(session, request);
    double kl[2] = {};
    for (int lane = 0; lane < 2; ++lane)
      for (const StepPtr& step : out.lanes[static_cast<std::size_t>(lane) + 1].steps) kl[lane] += step->kl;
    EXPECT_LT(kl[1], 0.9 * kl[0]) << base;
  }
}

}  // namespace
}  // namespace kvscope
