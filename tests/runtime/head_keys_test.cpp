// SPDX-License-Identifier: Apache-2.0
// A key with another value in single heads.
#include <gtest/gtest.h>

#include <tuple>

#include "policy/catalog.h"
#include "runs.h"
#include "runtime/session/session.h"

namespace kvscope {
namespace {

using namespace kvscope::testing;

/// What a head holds and how it came to it.
void expect_same_head(const HeadRecord& a, const HeadRecord& b, const std::string& where) {
  EXPECT_EQ(a.pos, b.pos) << where;
  EXPECT_EQ(a.votes, b.votes) << where;
  EXPECT_EQ(a.bias, b.bias) << where;
  ASSERT_EQ(a.events.size(), b.events.size()) << where;
  for (std::size_t e = 0; e < a.events.size(); ++e) EXPECT_EQ(a.events[e].into, b.events[e].into) << where;
  EXPECT_EQ(a.compress_rel_l2, b.compress_rel_l2) << where;
}

// Nothing reaches the first layer from elsewhere, so each of its heads is as in the run whose value it has.
TEST(HeadKeys, AHeadIsAsInARunWithItsValueAndTheOthersAsWithout) {
  Session session = open_session(tiny_model());
  for (const PromptMode mode : {PromptMode::prefill, PromptMode::stream})
    for (const std::string form : {"bias", "zip"}) {
      const std::string base = "keepkv:slots=12,form=" + form;
      RunRequest request;
      request.prompt_ids = random_ids(48, 64, 5);
      request.mode = mode;
      request.n_generate = 4;
      request.lanes = parse_lane_specs({base + ",threshold=0.9", base + ",threshold=-1", base + ",threshold=0.9,threshold[L0H1]=-1"});
      const Snapshot out = run(session, request);
      const LaneSnapshot &strict = out.lanes[1], &loose = out.lanes[2], &mixed = out.lanes[3];
      bool differ = false, reached = false;
      for (std::size_t s = 0; s < mixed.steps.size(); ++s) {
        const std::string where = mixed.spec + " step " + std::to_string(s);
        expect_same_head(mixed.steps[s]->heads[0], strict.steps[s]->heads[0], where + " H0");
        expect_same_head(mixed.steps[s]->heads[1], loose.steps[s]->heads[1], where + " H1");
        differ = differ || strict.steps[s]->heads[1].votes != loose.steps[s]->heads[1].votes;
        reached = reached || mixed.steps[s]->logits_top != strict.steps[s]->logits_top;
      }
      EXPECT_TRUE(differ) << "the two values decide differently";
      EXPECT_TRUE(reached) << "the answer hears of one head";
      EXPECT_EQ(mixed.spec, request.lanes[2].text);
      ASSERT_EQ(mixed.head_params.size(), 1u);
      const HeadParam& own = mixed.head_params[0];
      EXPECT_EQ(std::tie(own.layer, own.kv_head, own.key, own.value), std::make_tuple(0, 1, "threshold", "-1"));
      EXPECT_TRUE(strict.head_params.empty());
    }
}

TEST(HeadKeys, TheRunsOwnValueWrittenForAHeadChangesNothing) {
  Session session = open_session(tiny_model());
  RunRequest request;
  request.prompt_ids = random_ids(40, 64, 9);
  request.n_generate = 3;
  for (const std::string base : {"keepkv:slots=12,threshold=0.3", "kvmerger:slots=16,fit=threshold,threshold=0.5"}) {
    request.lanes = parse_lane_specs({base});
    const Snapshot plain = run(session, request);
    request.lanes = parse_lane_specs({base + (base.starts_with("keepkv") ? ",threshold[L1]=0.3" : ",threshold[L1]=0.5")});
    const Snapshot written = run(session, request);
    expect_same_run(plain, written);
  }
}

}  // namespace
}  // namespace kvscope
