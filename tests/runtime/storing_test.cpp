// SPDX-License-Identifier: Apache-2.0
// Runs whose keys and values are stored in fewer bits, or of which a query reads some pages (POLICIES.md section 4.6).
#include <algorithm>
#include <numeric>

#include "policy/catalog.h"
#include "runs.h"
#include "snapshot/figures.h"

namespace kvscope {
namespace {

using namespace kvscope::testing;

const std::vector<std::string> kStoredLanes = {"kivi:bits=2,group_size=4,residual=8", "turboquant:bits=3,residual=4",
                                               "custom:storage=grouped,bits=4,group_size=4,full_tokens=4,slots=12",
                                               "custom:storage=rotated,bits=2,slots=12", "quest:page=4,pages=3,whole=1"};

RunRequest stored_request(std::vector<int> ids, const std::vector<std::string>& lanes, PromptMode mode) {
  return request_of(std::move(ids), lanes, mode, 6);
}

const LaneSnapshot& lane_of(const Snapshot& snapshot, const std::string& spec) {
  return *std::ranges::find(snapshot.lanes, spec, &LaneSnapshot::spec);
}

TEST(Storing, CostsErrorsFromTheStepAfterThePromptOn) {
  for (const PromptMode mode : {PromptMode::prefill, PromptMode::stream}) {
    Session session = open_session(tiny_model());
    const Snapshot out = run(session, stored_request(random_ids(40, 64, 3), kStoredLanes, mode));
    for (const std::string& spec : kStoredLanes) {
      const LaneSnapshot& lane = lane_of(out, spec);
      const HeadRecord &first = lane.steps.front()->heads.back(), &last = lane.steps.back()->heads.back();
      EXPECT_EQ(first.local_rel_l2, 0) << spec;
      EXPECT_GT(last.local_rel_l2, 1e-6) << spec;
      EXPECT_LT(last.local_rel_l2, 2) << spec;
      EXPECT_TRUE(std::isnan(last.theta)) << spec << ": the bound is for what is only evicted";
    }
  }
}

TEST(Storing, MoreBitsCostLess) {
  Session session = open_session(tiny_model());
  double before = 1e9;
  for (const char* spec :
       {"kivi:bits=2,group_size=4,residual=4", "kivi:bits=4,group_size=4,residual=4", "kivi:bits=8,group_size=4,residual=4"}) {
    const Snapshot out = run(session, stored_request(random_ids(60, 64, 3), {spec}, PromptMode::prefill));
    double error = 0;
    for (const HeadRecord& head : out.lanes.back().steps.back()->heads) error += head.local_rel_l2;
    EXPECT_LT(error, before / 4) << spec;
    before = error;
  }
}

TEST(Storing, WhatIsAllRecentEqualsTheFullCacheToTheLastBit) {
  Session session = open_session(tiny_model());
  const Snapshot out = run(
      session, stored_request(random_ids(30, 64, 3), {"kivi", "turboquant:residual=99", "quest", "think:pruned=0"}, PromptMode::prefill));
  for (const LaneSnapshot& lane : out.lanes) {
    EXPECT_EQ(lane.steps.back()->logits_top, out.lanes[0].steps.back()->logits_top) << lane.spec;
    EXPECT_EQ(lane.steps.back()->kl, 0) << lane.spec;
  }
}

TEST(Storing, BytesAreThoseOfTheHeadsAndOfTheEquation) {
  Session session = open_session(tiny_model());
  const int d = session.config().head_dim, heads = session.config().n_layers * session.config().n_kv_heads;
  const Snapshot out = run(session, stored_request(random_ids(40, 64, 3), kStoredLanes, PromptMode::prefill));
  for (const std::string& spec : kStoredLanes) {
    const LaneSnapshot& lane = lane_of(out, spec);
    double sum = 0;
    for (const HeadRecord& head : lane.steps.back()->heads) sum += std::isnan(head.kv_bytes) ? head.n_slots * 2.0 * d * 8 : head.kv_bytes;
    EXPECT_EQ(lane.kv_bytes, sum) << spec;
    EXPECT_GE(lane.bytes, lane.kv_bytes) << spec;
  }
  // 46 tokens: keys 0 to 39 in 10 blocks of 4, values 0 to 37
  const double full = 8.0 * d * (2 * 46 - 40 - 38), stored = 78 * d * 2 / 8.0 + 4.0 * (10 * d + 38 * ((d + 3) / 4));
  EXPECT_EQ(lane_of(out, kStoredLanes[0]).kv_bytes, heads * (full + stored));
  const double turned = 8.0 * d * 2 * 4 + 2 * 42 * (d * 3 / 8.0 + 2);
  EXPECT_EQ(lane_of(out, kStoredLanes[1]).kv_bytes, heads * turned);
}

/// A policy may leave the first layers whole: their rows are bytes of the run like any others, in every step.
TEST(Storing, FiguresOfAStepHaveTheBytesOfAllHeads) {
  Session session = open_session(tiny_model());
  const double row = 2.0 * session.config().head_dim * 8;
  const Snapshot out =
      run(session, stored_request(random_ids(40, 64, 3), {"quest:page=4,pages=2,whole=1", "kivi:bits=2"}, PromptMode::stream));
  bool mixed = false;
  for (const LaneSnapshot& lane : out.lanes) {
    for (int s = 0; s < static_cast<int>(lane.steps.size()); ++s) {
      double sum = 0;
      std::size_t n_full = 0;
      const std::vector<HeadRecord>& heads = lane.steps[static_cast<std::size_t>(s)]->heads;
      for (const HeadRecord& head : heads) {
        n_full += std::isnan(head.kv_bytes);
        sum += std::isnan(head.kv_bytes) ? head.n_slots * row : head.kv_bytes;
      }
      mixed = mixed || (n_full > 0 && n_full < heads.size());
      EXPECT_EQ(run_figures(out, lane, s, s).bytes, sum) << lane.spec << ", step " << s;
    }
  }
  EXPECT_TRUE(mixed);
}

TEST(Storing, EveryRunSaysThatItIsComputedAsIfStored) {
  Session session = open_session(tiny_model());
  const Snapshot out = run(session, stored_request(random_ids(40, 64, 3), kStoredLanes, PromptMode::prefill));
  for (const LaneSnapshot& lane : out.lanes) {
    const auto said = std::ranges::find(lane.warnings, LaneWarning::Kind::as_if_stored, &LaneWarning::kind);
    EXPECT_EQ(said != lane.warnings.end(), !lane.stored_as.empty()) << lane.spec;
    EXPECT_EQ(lane.stored_as.empty(), lane.spec == "full" || lane.spec.starts_with("quest")) << lane.spec;
    if (said == lane.warnings.end()) continue;
    EXPECT_EQ(said->got, lane.kv_bytes);
    EXPECT_NE(text_of(*said).find("computed as if stored"), std::string::npos);
  }
}

TEST(Storing, ATextOfWhichAllStaysInFullIsSaidToBeNoSmaller) {
  Session session = open_session(tiny_model());
  const Snapshot out = run(session, stored_request(random_ids(20, 64, 3), {"kivi:bits=4"}, PromptMode::prefill));
  const LaneSnapshot& lane = out.lanes.back();
  EXPECT_EQ(lane.kv_bytes, out.lanes[0].kv_bytes);
  ASSERT_EQ(lane.warnings.size(), 1u);
  EXPECT_NE(text_of(lane.warnings[0]).find("nothing is stored smaller"), std::string::npos) << text_of(lane.warnings[0]);
}

TEST(Storing, ASlotSaysHowFarOffItIs) {
  Session session = open_session(tiny_model());
  const Snapshot out = run(session, stored_request(random_ids(40, 64, 3), {kStoredLanes[0]}, PromptMode::prefill));
  const HeadRecord& head = out.lanes[1].steps.back()->heads.front();
  ASSERT_EQ(head.stored_block.size(), 46u);
  EXPECT_EQ(head.stored_block[39], 9);
  EXPECT_EQ(head.stored_block[40], -1);
  EXPECT_GT(head.key_error[39], 0);
  EXPECT_LT(head.key_error[39], 1);
  EXPECT_TRUE(std::isnan(head.key_error[40]));
  EXPECT_GT(head.value_error[37], 0);
  EXPECT_TRUE(std::isnan(head.value_error[38]));
}

TEST(Storing, EditsOfAPromptChangeNothing) {
  for (const PromptMode mode : {PromptMode::prefill, PromptMode::stream}) {
    Session edited = open_session(tiny_model());
    std::vector<int> ids = random_ids(150, 64, 4);
    run(edited, stored_request(ids, kStoredLanes, mode));
    for (const int at : {149, 64, 20}) {
      ids[static_cast<std::size_t>(at)] = (ids[static_cast<std::size_t>(at)] + 1) % 64;
      Session fresh = open_session(tiny_model());
      expect_same_run(run(edited, stored_request(ids, kStoredLanes, mode)), run(fresh, stored_request(ids, kStoredLanes, mode)));
    }
  }
}

TEST(Storing, ThreadsChangeNothing) {
  Session one = open_session(tiny_model()), three = open_session(tiny_model(), DType::f64, 3);
  const RunRequest request = stored_request(random_ids(60, 64, 6), kStoredLanes, PromptMode::prefill);
  expect_same_run(run(one, request), run(three, request));
}

TEST(Storing, EqualBytesAreWhatAShareOfBytesAsksFor) {
  Session session = open_session(tiny_model());
  RunRequest request =
      stored_request(random_ids(200, 64, 3),
                     {"snapkv:ratio=0.125,window=4", "custom:stat=pooled,window=4,storage=grouped,group_size=4,full_tokens=0,bytes=0.125"},
                     PromptMode::prefill);
  request.n_generate = 0;
  const Snapshot out = run(session, request);
  const LaneSnapshot &evicts = out.lanes[1], &quantises = out.lanes[2];
  EXPECT_LE(quantises.kv_bytes, evicts.kv_bytes);
  EXPECT_GT(quantises.kv_bytes, 0.95 * evicts.kv_bytes);
  EXPECT_GT(quantises.slots, 1.5 * evicts.slots);
}

TEST(Reading, WhatIsNotReadGetsNoAttentionAndCountsAsLost) {
  Session session = open_session(tiny_model());
  const Snapshot out = run(session, stored_request(random_ids(40, 64, 3), {"quest:page=4,pages=3,whole=1"}, PromptMode::prefill));
  const LaneSnapshot& lane = out.lanes[1];
  const int n_kv = session.config().n_kv_heads, d = session.config().head_dim;
  EXPECT_TRUE(lane.steps.front()->heads.back().unread.empty()) << "the prompt is read in full";
  const StepRecord& step = *lane.steps[3];  // position 42: 43 slots, 10 full pages before the query's own
  EXPECT_TRUE(step.heads.front().unread.empty()) << "the first layer reads everything";
  EXPECT_TRUE(std::isnan(step.heads.front().read_bytes));
  const HeadRecord& head = step.heads[static_cast<std::size_t>(n_kv)];
  ASSERT_EQ(head.unread.size(), 8u * 4);
  EXPECT_EQ(head.read_bytes, 2.0 * d * 8 * (43 - 32 + 10));
  EXPECT_EQ(head.kv_bytes, 2.0 * d * 8 * (43 + 10));
  double lost = 0, elsewhere = 0;
  for (const int pos : head.unread) {
    EXPECT_EQ(head.attention[static_cast<std::size_t>(pos)], 0);
    lost += static_cast<double>(head.reference_attention[static_cast<std::size_t>(pos)]);
  }
  elsewhere = std::accumulate(head.attention.begin(), head.attention.end(), 0.0);
  EXPECT_NEAR(elsewhere, 1, 1e-6);
  EXPECT_NEAR(head.attention_loss, lost, 1e-6);
  const std::vector<Category> fate = categories(*lane.fates, step, n_kv, lane.sinks, false);
  EXPECT_EQ(std::ranges::count(fate, Category::unread), 32);
  EXPECT_EQ(std::ranges::count(fate, Category::evicted), 0);
}

TEST(Pages, ByPagesTheHeadsOfALayerKeepTheSameWholePages) {
  Session session = open_session(tiny_model());
  const Snapshot out = run(session, stored_request(random_ids(60, 64, 3), {"knorm:ratio=0.5,block=5"}, PromptMode::prefill));
  const StepRecord& step = *out.lanes.back().steps.front();
  ASSERT_LT(step.heads.front().n_slots, 60);
  for (const HeadRecord& head : step.heads) {
    const HeadRecord& first = *std::ranges::find(step.heads, head.layer, &HeadRecord::layer);
    EXPECT_EQ(head.pos, first.pos) << head.layer << ' ' << head.kv_head;
  }
  int whole = 0;
  for (int page = 0; page < 12; ++page)
    whole += std::ranges::count_if(step.heads.front().pos, [&](int pos) { return pos / 5 == page; }) == 5;
  EXPECT_GE(whole, 4);
}

TEST(Pages, BytesReadAreThoseOfAllHeadsBesideThoseKept) {
  Session session = open_session(tiny_model());
  const Snapshot out =
      run(session, stored_request(random_ids(40, 64, 3), {"quest:page=4,pages=3,whole=1", "h2o:slots=20"}, PromptMode::prefill));
  const LaneSnapshot& paged = out.lanes[1];
  const RunFigures f = run_figures(out, paged);
  const StepRecord& last = *paged.steps.back();
  const double row = 2.0 * out.model.head_dim * 8;
  double wanted = 0;
  for (const HeadRecord& head : last.heads)
    wanted += head.page > 0 ? row * (head.n_slots - std::ssize(head.unread) + std::ssize(head.page_scores)) : row * head.n_slots;
  const int n = static_cast<int>(paged.steps.size());
  EXPECT_EQ(run_figures(out, paged, n - 1, n - 1).read.mean(), wanted);
  EXPECT_LT(wanted, f.bytes);
  EXPECT_EQ(f.read.n, 6) << "steps after the prompt, which is read whole";
  EXPECT_EQ(run_figures(out, out.lanes[2]).read.n, 0) << "it reads all that it has";
  EXPECT_TRUE(std::isnan(run_figures(out, out.lanes[0]).read.mean()));
}

}  // namespace
}  // namespace kvscope
