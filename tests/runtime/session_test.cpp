// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/session.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "io/temp_folder.h"
#include "policies_with.h"
#include "policy/catalog.h"
#include "policy/text/lane_edits.h"
#include "runs.h"
#include "snapshot/figures.h"

namespace kvscope {
namespace {

using namespace kvscope::testing;

std::vector<std::string> all_lanes(const std::string& slots, PromptMode mode) {
  std::vector<std::string> out = policies_with(slots, mode);
  out.insert(out.begin(), reference_policy());
  return out;
}

RunRequest session_request(std::vector<int> ids, PromptMode mode, int n_generate) {
  RunRequest request;
  request.prompt_ids = std::move(ids);
  request.lanes = parse_lane_specs(all_lanes("12", mode));
  request.mode = mode;
  request.n_generate = n_generate;
  request.measures = MeasureSet::all();
  return request;
}

class Session_ : public ::testing::TestWithParam<PromptMode> {};
INSTANTIATE_TEST_SUITE_P(Modes, Session_, ::testing::Values(PromptMode::prefill, PromptMode::stream),
                         [](const auto& mode) { return mode.param == PromptMode::prefill ? "prefill" : "stream"; });

TEST_P(Session_, AnEditAnywhereGivesTheSameRunAsAFreshSession) {
  Session edited = open_session(tiny_model());
  std::vector<int> ids = random_ids(150, 64, 1);
  run(edited, session_request(ids, GetParam(), 3));
  for (const int at : {149, 100, 65, 64, 63, 7, 0}) {  // around page and checkpoint bounds
    SCOPED_TRACE(at);
    ids[at] = (ids[at] + 1) % 64;
    Session fresh = open_session(tiny_model());
    expect_same_run(run(edited, session_request(ids, GetParam(), 3)), run(fresh, session_request(ids, GetParam(), 3)));
  }
  for (const int length : {151, 90, 64, 128}) {
    SCOPED_TRACE(length);
    ids.resize(length, 5);
    Session fresh = open_session(tiny_model());
    expect_same_run(run(edited, session_request(ids, GetParam(), 3)), run(fresh, session_request(ids, GetParam(), 3)));
  }
}

TEST_P(Session_, GeneratingInPartsEqualsGeneratingAtOnce) {
  const std::vector<int> ids = random_ids(40, 64, 2);
  Session parts = open_session(tiny_model()), once = open_session(tiny_model());
  run(parts, session_request(ids, GetParam(), 2));
  run(parts, session_request(ids, GetParam(), 5));
  expect_same_run(run(parts, session_request(ids, GetParam(), 9)), run(once, session_request(ids, GetParam(), 9)));
}

TEST_P(Session_, ALaneAddedLaterEqualsALaneFromTheStart) {
  const std::vector<int> ids = random_ids(70, 64, 3);
  Session later = open_session(tiny_model()), start = open_session(tiny_model());
  RunRequest few = session_request(ids, GetParam(), 4);
  few.lanes.resize(2);
  run(later, few);
  expect_same_run(run(later, session_request(ids, GetParam(), 4)), run(start, session_request(ids, GetParam(), 4)));
}

TEST_P(Session_, WithRoomForEveryTokenALaneIsBitIdenticalToTheFullCache) {
  Session session = open_session(tiny_model(), DType::f32, 2);
  RunRequest request = session_request(random_ids(30, 64, 4), GetParam(), 5);
  request.lanes = parse_lane_specs(all_lanes("64", GetParam()));
  const Snapshot out = run(session, request);
  for (const LaneSnapshot& lane : out.lanes) {
    if (lane.policy == "dms") continue;  // a threshold removes whatever room there is (POLICIES.md section 7)
    for (std::size_t s = 0; s < lane.steps.size(); ++s) {
      EXPECT_EQ(lane.steps[s]->logits_top, out.lanes[0].steps[s]->logits_top) << lane.spec << " step " << s;
      EXPECT_EQ(lane.steps[s]->kl, 0) << lane.spec;
    }
  }
}

TEST_P(Session_, EveryTokenIsRepresentedOrEvictedExactlyOnce) {
  Session session = open_session(tiny_model());
  const Snapshot out = run(session, session_request(random_ids(60, 64, 5), GetParam(), 6));
  for (const LaneSnapshot& lane : out.lanes) {
    for (const StepPtr& step : lane.steps) {
      for (const HeadRecord& head : step->heads) {
        int votes = 0;
        for (const int v : head.votes) votes += v;
        EXPECT_EQ(votes + head.evicted_votes, step->position + 1) << lane.spec;
        EXPECT_EQ(std::set<int>(head.pos.begin(), head.pos.end()).size(), head.pos.size());
      }
    }
  }
}

TEST_P(Session_, FatesSayWhichTokensTheSlotsHold) {
  Session session = open_session(tiny_model());
  for (const int n_generate : {2, 6}) {  // the second run extends the fates of the first
    const Snapshot out = run(session, session_request(random_ids(60, 64, 5), GetParam(), n_generate));
    for (const LaneSnapshot& lane : out.lanes) {
      ASSERT_TRUE(lane.fates);
      ASSERT_EQ(lane.fates->heads.size(), lane.steps[0]->heads.size());
      const StepRecord& last = *lane.steps.back();
      for (std::size_t h = 0; h < last.heads.size(); ++h) {
        const HeadFates& fates = lane.fates->heads[h];
        std::vector<int> own;
        int lost = 0;
        for (int t = 0; t <= last.position; ++t) {
          if (fates.left(t) == kNever) own.push_back(t);
          lost += fates.lost(t) != kNever ? 1 : 0;
        }
        EXPECT_EQ(own, last.heads[h].pos) << lane.spec;
        EXPECT_EQ(lost, last.heads[h].evicted_votes) << lane.spec;
      }
    }
  }
}

TEST_P(Session_, ARunCancelledAnywhereGoesOnAsIfNothingHadHappened) {
  const std::vector<int> ids = random_ids(140, 64, 6);
  Session plain = open_session(tiny_model());
  const Snapshot want = run(plain, session_request(ids, GetParam(), 6));
  for (int stop_after = 0; stop_after < 11; ++stop_after) {
    SCOPED_TRACE(stop_after);
    Session session = open_session(tiny_model());
    CancelToken cancel;
    int reports = 0;
    const auto progress = [&](const std::string&, double) {
      if (reports++ == stop_after) cancel.cancel();
    };
    EXPECT_THROW(session.run(session_request(ids, GetParam(), 6), cancel, progress), Cancelled);
    expect_same_run(run(session, session_request(ids, GetParam(), 6)), want);
  }
}

TEST(SessionProgress, ACompressionStopsAtTheNextLayerAndIsDoneAgain) {
  const RunRequest request = session_request(random_ids(140, 64, 6), PromptMode::prefill, 2);
  Session plain = open_session(tiny_model(), DType::f64, 1), session = open_session(tiny_model(), DType::f64, 1);
  const Snapshot want = run(plain, request);
  CancelToken cancel;
  int after = 0;
  const auto stop = [&](const std::string& activity, double) {
    after += cancel.cancelled();
    if (activity.starts_with("prompt, compressing")) cancel.cancel();
  };
  EXPECT_THROW(session.run(request, cancel, stop), Cancelled);
  EXPECT_EQ(after, 0) << "layers that were compressed nevertheless";
  expect_same_run(run(session, request), want);
}

TEST(SessionProgress, RisesWithEveryLayerThatARunCompressesBesideTheOthers) {
  RunRequest request = session_request(random_ids(140, 64, 6), PromptMode::prefill, 2);
  const std::vector<LaneSpec> lanes = std::exchange(request.lanes, parse_lane_specs({reference_policy()}));
  Session session = open_session(tiny_model(), DType::f32, 2);
  run(session, request);
  request.lanes = {parse_lane_spec(reference_policy()), lanes[2], lanes[3]};
  std::vector<double> told;
  std::set<double> compressing;
  session.run(request, {}, [&](const std::string& activity, double fraction) {
    told.push_back(fraction);
    if (activity.starts_with("prompt, compressing")) compressing.insert(fraction);
  });
  EXPECT_EQ(static_cast<int>(compressing.size()), 2 * session.config().n_layers) << "every one further than the one before";
  EXPECT_TRUE(std::ranges::is_sorted(told));
  EXPECT_EQ(told.back(), 1);
}

TEST_P(Session_, ThreadsChangeNothing) {
  const RunRequest request = session_request(random_ids(100, 64, 7), GetParam(), 3);
  for (const DType precision : {DType::f64, DType::f32}) {
    Session one = open_session(tiny_model(), precision, 1);
    const Snapshot want = run(one, request);
    for (const int n : {2, 5}) {
      Session many = open_session(tiny_model(), precision, n);
      expect_same_run(run(many, request), want);
    }
  }
}

TEST_P(Session_, ACacheTakesTheMemoryOfItsBudgetAndOneSlotMore) {
  Session session = open_session(tiny_model());
  RunRequest request = session_request(random_ids(60, 64, 5), GetParam(), 6);
  const Snapshot out = run(session, request);
  const ModelConfig& c = session.config();
  int checked = 0;
  for (const LaneSnapshot& lane : out.lanes) {
    bool holds_budget = true;
    for (const StepPtr& step : lane.steps) {
      for (const HeadRecord& head : step->heads)
        holds_budget &= head.budget == 12 && (step->position < 12 || static_cast<int>(head.pos.size()) == 12);
    }
    if (holds_budget) {
      ++checked;
      const double heads = c.n_layers * c.n_kv_heads, slot = 2 * c.head_dim * 8.0;
      const bool pools = lane.steps.back()->heads.front().pooled_tokens > 0;  // sums of what has gone: 4 features in the tiny model's maps
      const double sums = pools ? 4 * (c.head_dim + 1) * 8.0 : 0.0;
      EXPECT_EQ(lane.kv_bytes, heads * (12 * slot + sums)) << lane.spec;
      EXPECT_EQ(lane.bytes, heads * ((12 + 1) * slot + sums)) << lane.spec;
    }
  }
  EXPECT_GE(checked, 3);
}

TEST(Session, SaysWhatItKeepsOfAPromptsAttention) {
  Session session = open_session(tiny_model());
  RunRequest request;
  request.prompt_ids = random_ids(40, 64, 5);
  request.lanes = parse_lane_specs({"snapkv:slots=12,window=4"});
  request.mode = PromptMode::prefill;
  const double of_one = run(session, request).attention_bytes;
  EXPECT_GE(of_one, 8.0 * 40 * 4 * session.config().n_layers) << "a double per token and row of the window, at least, in every layer";
  request.lanes = parse_lane_specs({"snapkv:slots=12,window=4", "snapkv:slots=12,window=16"});
  EXPECT_GT(run(session, request).attention_bytes, of_one) << "more rows, once for both";
  request.mode = PromptMode::stream;
  EXPECT_EQ(run(session, request).attention_bytes, 0) << "every step sees it once";
}

TEST(Session, WithoutAShadowLocalFiguresAreNotAvailable) {
  Session session = open_session(tiny_model());
  RunRequest request = session_request(random_ids(40, 64, 8), PromptMode::prefill, 3);
  request.history = false;
  const Snapshot out = run(session, request);
  const LaneSnapshot& lane = out.lanes[1];
  ASSERT_LT(lane.steps[2]->heads[0].pos.size(), 40u);
  EXPECT_TRUE(std::isnan(lane.steps[2]->heads[0].local_rel_l2));
  EXPECT_TRUE(lane.steps[2]->heads[0].reference_attention.empty());
}

TEST(Session, BadRequestsLeaveTheSessionUsable) {
  Session session = open_session(tiny_model());
  RunRequest good = session_request(random_ids(20, 64, 9), PromptMode::prefill, 2);
  const Snapshot want = run(session, good);
  RunRequest bad = good;
  bad.lanes = parse_lane_specs({"keepkv:slots=3,threshold[L99]=0.5"});  // reads well, but the model has no such layer
  EXPECT_THROW(run(session, bad), UsageError);
  bad = good;
  bad.prompt_ids[3] = 64;  // the vocabulary ends at 63
  EXPECT_THROW(run(session, bad), UsageError);
  bad = good;
  bad.prompt_ids.assign(100000, 1);
  EXPECT_THROW(run(session, bad), Error);
  expect_same_run(run(session, good), want);
}

TEST(Session, SamplingRepeatsWithItsSeedAndDiffersWithAnother) {
  Session session = open_session(tiny_model());
  RunRequest request = session_request(random_ids(20, 64, 10), PromptMode::prefill, 12);
  request.lanes = {};
  request.temperature = 1.5;
  const auto text = [&](std::uint64_t seed) {
    request.seed = seed;
    return run(session, request).lanes[0].fed;
  };
  const auto first = text(1);
  EXPECT_NE(text(2), first);
  EXPECT_EQ(text(1), first);
}

TEST_P(Session_, FewerTokensAreAnsweredAsByAFreshSession) {
  Session session = open_session(tiny_model()), fresh = open_session(tiny_model());
  RunRequest request = request_of(random_ids(20, 64, 3), {"full", "h2o:slots=8", "kivi", "keepkv:slots=9"}, GetParam(), 30);
  run(session, request);
  request.n_generate = 2;
  request.lanes.push_back(parse_lane_spec("streaming:slots=8"));  // which has not gone on
  expect_same_run(run(session, request), run(fresh, request));
  request.n_generate = 30;
  expect_same_run(run(session, request), run(fresh, request));
}

TEST_P(Session_, AFileOfARunThatWasWrittenAnewIsComputedWith) {
  const test::TempFolder folder;
  const std::string file = folder.write("heads.json", "[[1, 0, 2, 0], [0, 1, 0, 3]]");
  Session session = open_session(tiny_model()), fresh = open_session(tiny_model());
  RunRequest request = request_of(random_ids(40, 64, 3), {"headkv:slots=8,scores=" + file}, GetParam(), 4);
  const Snapshot before = run(session, request);
  folder.write("heads.json", "[[0, 1, 0, 9], [5, 0, 1, 0]] ");
  const Snapshot want = run(fresh, request);
  EXPECT_NE(before.lanes[1].steps.back()->kl, want.lanes[1].steps.back()->kl);
  expect_same_run(run(session, request), want);
  request.lanes.push_back(with_edits(request.lanes[0], edits_of("full@evict=3,step=1")));  // a fork of it
  request.n_generate = 6;
  expect_same_run(run(session, request), run(fresh, request));
}

TEST_P(Session_, TheEndOfATextIsFoundInStepsThatAreThere) {
  RunRequest request = request_of(random_ids(20, 64, 3), {"h2o:slots=8"}, GetParam(), 12);
  Session free = open_session(tiny_model());
  const std::vector<int> fed = run(free, request).lanes[0].fed;
  ModelFiles model = open_model(tiny_model());
  model.end_ids = {fed[fed.size() - 8]};
  Session session(std::move(model), {.precision = DType::f64, .n_threads = 1});
  request.ignore_end = true;
  const std::size_t all = run(session, request).lanes[0].steps.size();
  request.ignore_end = false;
  const Snapshot out = run(session, request);
  ModelFiles again = open_model(tiny_model());
  again.end_ids = {fed[fed.size() - 8]};
  Session fresh(std::move(again), {.precision = DType::f64, .n_threads = 1});
  const Snapshot want = run(fresh, request);
  EXPECT_LT(want.lanes[0].steps.size(), all);
  EXPECT_EQ(out.notice, want.notice);
  EXPECT_FALSE(out.notice.empty());
  expect_same_run(out, want);
}

/// Runs that read their own texts say their last token at different steps: generation ends with the last of them.
TEST_P(Session_, EveryRunEndsItsOwnText) {
  RunRequest request = request_of(random_ids(20, 64, 3), {"h2o:slots=8"}, GetParam(), 24);
  request.follow = Follow::self;
  Session free = open_session(tiny_model());
  const Snapshot all = run(free, request);
  const int n_prompt_steps = GetParam() == PromptMode::prefill ? 1 : 20;
  const auto said_at = [&](std::size_t lane, int id) {
    const std::vector<int> ids = lane_tokens(all, all.lanes[lane]);
    return static_cast<int>(std::find(ids.begin() + 20, ids.end(), id) - ids.begin()) - 20;
  };
  int end = -1, last = 24;  // a token that both say, not at the same step, the earliest there is
  for (int id = 0; id < 64; ++id) {
    const int a = said_at(0, id), b = said_at(1, id);
    if (a != b && std::max(a, b) < last) end = id, last = std::max(a, b);
  }
  ASSERT_GE(end, 0);
  ModelFiles model = open_model(tiny_model());
  model.end_ids = {end};
  Session session(std::move(model), {.precision = DType::f64, .n_threads = 1});
  const Snapshot out = run(session, request);
  EXPECT_EQ(out.notice, fmt::format("the text ended after {} of 24 tokens", last + 1));
  for (std::size_t lane = 0; lane < 2; ++lane) {
    EXPECT_EQ(out.lanes[lane].text_end, said_at(lane, end) + 1);
    EXPECT_EQ(static_cast<int>(out.lanes[lane].steps.size()), n_prompt_steps + last);
  }
}

TEST_P(Session_, APromptThatIsNotReadAgainTookNoTime) {
  Session session = open_session(tiny_model());
  RunRequest request = request_of(random_ids(40, 64, 3), {"h2o:slots=8"}, GetParam(), 4);
  EXPECT_GT(run(session, request).lanes[1].steps.front()->ms, 0);
  request.follow = Follow::self;
  request.lanes.push_back(parse_lane_spec("h2o:slots=10"));
  const double again = run(session, request).lanes.back().steps.front()->ms;
  const bool is_read_with_it = GetParam() == PromptMode::stream;
  EXPECT_EQ(again > 0, is_read_with_it) << again;
}

/// Where texts part, a position is another token in each run: every result names it by what the run has read.
TEST_P(Session_, ARunOfItsOwnTextHasItsOwnTokens) {
  RunRequest request = request_of(random_ids(20, 64, 3), {"h2o:slots=8", "full"}, GetParam(), 12);
  request.follow = Follow::self;
  Session session = open_session(tiny_model());
  const Snapshot out = run(session, request);
  ASSERT_TRUE(out.lanes[2].tokens.empty()) << "the same text is kept once";
  ASSERT_FALSE(out.lanes[1].tokens.empty());
  const int n_alike = n_alike_tokens(out, out.lanes[0], out.lanes[1]);
  ASSERT_GE(n_alike, 20);
  ASSERT_LT(n_alike, 32);
  const std::vector<int> ids = lane_tokens(out, out.lanes[1]);
  const std::vector<TokenInfo>& read = tokens_of(out, 1);
  ASSERT_EQ(static_cast<int>(read.size()), out.lanes[1].steps.back()->position + 1);
  for (std::size_t i = 0; i < read.size(); ++i) {
    EXPECT_EQ(read[i].id, ids[i]);
    EXPECT_EQ(read[i].bytes, (*out.vocabulary)[static_cast<std::size_t>(ids[i])].bytes);
  }
  EXPECT_NE(read[static_cast<std::size_t>(n_alike)].id, out.tokens[static_cast<std::size_t>(n_alike)].id);
  request.follow = Follow::reference;
  for (const LaneSnapshot& lane : run(session, request).lanes) EXPECT_TRUE(lane.tokens.empty());
}

TEST(Session, TokensKnowTheirBytesInThePrompt) {
  Session session = open_session(embedded_model(), DType::f32, 2);
  RunRequest request;
  request.prompt = "The café is \xF0\x9F\x8E\xB7 open";
  const Snapshot out = run(session, request);
  std::string joined;
  for (int i = 0; i < out.n_prompt; ++i) {
    const TokenInfo& t = out.tokens[i];
    joined += out.prompt.substr(t.text_begin, t.text_end - t.text_begin);
    if (i > 0) {
      EXPECT_EQ(t.text_begin, out.tokens[i - 1].text_end);
    }
  }
  EXPECT_EQ(joined, request.prompt);
  EXPECT_TRUE(out.tokens[0].special);
}

}  // namespace
}  // namespace kvscope
