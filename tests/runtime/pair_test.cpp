// SPDX-License-Identifier: Apache-2.0
// One policy for the prompt and another for what follows: who decides when, and from which statistics.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "policy/catalog.h"
#include "runs.h"

namespace kvscope {
namespace {

using namespace kvscope::testing;

Snapshot pair_run(Session& session, const std::vector<std::string>& lanes, int n_generate = 12) {
  RunRequest request{.prompt_ids = random_ids(60, 64, 5), .lanes = parse_lane_specs(lanes), .n_generate = n_generate};
  return run(session, request);
}

TEST(PairRun, ThePromptsPolicyCompressesThePromptAsItDoesAlone) {
  Session session = open_session(tiny_model());
  const Snapshot s =
      pair_run(session, {"snapkv:slots=30,window=4", R"(prefill_decode:prefill="snapkv:slots=30,window=4",decode=h2o:slots=20)"});
  const std::vector<HeadRecord>&alone = s.lanes[1].steps[0]->heads, &pair = s.lanes[2].steps[0]->heads;
  for (std::size_t h = 0; h < alone.size(); ++h) {
    EXPECT_EQ(pair[h].pos, alone[h].pos);
    EXPECT_EQ(pair[h].score.size(), alone[h].score.size());
    EXPECT_EQ(pair[h].budget, 30);
    EXPECT_EQ(s.lanes[2].steps[1]->heads[h].n_slots, 20) << "the next step is the other one's";
    EXPECT_EQ(s.lanes[2].steps[1]->heads[h].budget, 20);
    EXPECT_EQ(s.lanes[2].steps.back()->heads[h].evicted_votes, 60 + 12 - 20);
  }
  EXPECT_EQ(s.lanes[2].title, "SnapKV, then H2O");
  EXPECT_EQ(s.lanes[2].slots_asked, 20);
}

TEST(PairRun, BehindAWholePromptTheOtherOneIsItself) {
  Session session = open_session(tiny_model());
  const std::string decode = "custom:stat=sum,cadence=every,every=4,after_prompt=0,slots=20,recent=3";
  const Snapshot s = pair_run(session, {decode, "prefill_decode:prefill=full,decode=\"" + decode + '"'});
  for (std::size_t i = 0; i < s.lanes[1].steps.size(); ++i)
    for (std::size_t h = 0; h < s.lanes[1].steps[i]->heads.size(); ++h) {
      const HeadRecord &alone = s.lanes[1].steps[i]->heads[h], &pair = s.lanes[2].steps[i]->heads[h];
      ASSERT_EQ(pair.pos, alone.pos) << i;
      if (i > 0) {
        ASSERT_EQ(pair.statistic, alone.statistic) << i;
      }
      ASSERT_EQ(pair.events.size(), alone.events.size()) << i;
    }
  EXPECT_EQ(s.lanes[2].steps.back()->kl, s.lanes[1].steps.back()->kl);
}

TEST(PairRun, TheOtherOneRanksAsIfItHadWatchedThePrompt) {
  Session session = open_session(tiny_model());
  // both hold the same slots after the prompt; what the first step then takes is ranked by sums over the whole prompt
  const Snapshot s =
      pair_run(session, {"h2o:slots=30,recent=2", R"(prefill_decode:prefill="h2o:slots=30,recent=2",decode="h2o:slots=18,recent=2")",
                         R"(prefill_decode:prefill="knorm:slots=30,sinks=0,recent=0",decode="knorm:slots=18,sinks=0,recent=0")"});
  int n_compared = 0;
  for (std::size_t h = 0; h < s.lanes[1].steps[1]->heads.size(); ++h) {
    const HeadRecord &alone = s.lanes[1].steps[1]->heads[h], &pair = s.lanes[2].steps[1]->heads[h];
    EXPECT_EQ(pair.n_slots, 18);
    for (const Event& event : pair.events) {
      const auto place = std::ranges::find(alone.pos, event.pos) - alone.pos.begin();
      if (place == static_cast<std::ptrdiff_t>(alone.pos.size()) || std::isnan(alone.score[static_cast<std::size_t>(place)])) continue;
      EXPECT_EQ(event.score, alone.score[static_cast<std::size_t>(place)]);
      ++n_compared;
    }
    // norms of keys come from the prompt, too
    const HeadRecord& norms = s.lanes[3].steps[1]->heads[h];
    EXPECT_EQ(norms.n_slots, 18);
    EXPECT_TRUE(std::ranges::none_of(norms.events, [](const Event& e) { return std::isnan(e.score); }));
  }
  EXPECT_GT(n_compared, 20);
}

TEST(PairRun, GoesOnWhenMoreTokensAreAskedFor) {
  Session session = open_session(tiny_model()), fresh = open_session(tiny_model());
  const std::string spec = R"(prefill_decode:prefill="snapkv:slots=30,window=4",decode=h2o:slots=20)";
  pair_run(session, {spec}, 70);
  const Snapshot longer = pair_run(session, {spec}, 80), anew = pair_run(fresh, {spec}, 80);
  expect_same_run(longer, anew);
}

}  // namespace
}  // namespace kvscope
