// SPDX-License-Identifier: Apache-2.0
// What a session holds grows with the text and not with its square. Counted are the bytes that live: no times, no resident sets.
#include <gtest/gtest.h>

#include <map>

#include "memory/counted_new.h"
#include "policy/catalog.h"
#include "runtime/restart_points.h"
#include "runtime/runs.h"
#include "snapshot/held_bytes.h"
#include "tokenizer/added_tokens.h"

namespace kvscope {
namespace {

using namespace kvscope::testing;

class Nobody final : public RecordSink {
 public:
  void take(int, const StepRecord&) override {}
};

RunRequest request_of(int n_tokens, PromptMode mode) {
  RunRequest request;
  request.prompt_ids = random_ids(n_tokens, 64, 3);
  request.lanes = parse_lane_specs({"h2o:ratio=0.2"});
  request.mode = mode;
  request.measures = MeasureSet::all();
  return request;
}

/// Bytes that a session lives with after a run, beside those that it was opened with.
long long held_after(const RunRequest& request, RecordSink* sink, std::size_t limit = 0) {
  Session session = open_session(tiny_model(), DType::f32);
  session.set_record_limit(limit);
  const CancelToken never;
  RunRequest small = request;
  small.prompt_ids.resize(8);
  session.run(small, never, {}, {}, sink);
  const long long before = live_bytes;
  session.run(request, never, {}, {}, sink);
  return live_bytes - before;
}

TEST(MemoryGrowth, OfARunWhoseRecordsAreTakenIsLinear) {
  Nobody sink;
  const long long one = held_after(request_of(300, PromptMode::stream), &sink),
                  two = held_after(request_of(600, PromptMode::stream), &sink);
  EXPECT_GT(one, 0);
  EXPECT_LE(static_cast<double>(two), 2.2 * static_cast<double>(one)) << one << " bytes, then " << two;
}

TEST(MemoryGrowth, OfCheckpointsAndReferenceIsLinear) {
  // records are held to one MiB, so that what grows is the rest
  constexpr std::size_t kLimit = std::size_t{1} << 20;
  const long long one = held_after(request_of(1200, PromptMode::stream), nullptr, kLimit),
                  two = held_after(request_of(2400, PromptMode::stream), nullptr, kLimit);
  EXPECT_LE(static_cast<double>(two), 2.2 * static_cast<double>(one)) << one << " bytes, then " << two;
}

TEST(MemoryGrowth, OfAPromptsRestartPointsIsLinear) {
  Nobody sink;  // what stays of a prompt is not a lane's
  const long long one = held_after(request_of(1100, PromptMode::prefill), &sink),
                  two = held_after(request_of(2200, PromptMode::prefill), &sink);
  EXPECT_LE(static_cast<double>(two), 2.2 * static_cast<double>(one)) << one << " bytes, then " << two;
}

TEST(RestartPoints, StayFewAndNearTheEnd) {
  std::map<int, int> points;
  for (int n = 64; n <= 64 * 1000; n += 64) {
    points[n] = n;
    thin_restart_points(points, 64);
    ASSERT_LE(points.size(), kRestartPoints + 3u) << n;
    ASSERT_EQ(points.rbegin()->first, n);
    if (n > 64) {
      ASSERT_EQ(std::prev(points.end(), 2)->first, n - 64);
    }
    int before = 0;
    for (const auto& [at, state] : points) {
      ASSERT_LE(at - before, std::max(64, n / 4)) << n;
      before = at;
    }
  }
}

TEST(RecordLimit, TakesTheSlotsOutOfTheOldestStepsOfAllLanesAndSaysSo) {
  Session limited = open_session(tiny_model(), DType::f32), free = open_session(tiny_model(), DType::f32);
  const RunRequest request = request_of(300, PromptMode::stream);
  const Snapshot whole = run(free, request);
  const auto limit = static_cast<std::size_t>(0.7 * held_bytes(whole.lanes));
  limited.set_record_limit(limit);
  const Snapshot cut = run(limited, request);
  EXPECT_LE(held_bytes(cut.lanes), static_cast<double>(limit));
  EXPECT_NE(cut.notice.find("older steps will keep only figures"), std::string::npos) << cut.notice;
  for (std::size_t l = 0; l < cut.lanes.size(); ++l) {
    const LaneSnapshot &a = cut.lanes[l], &b = whole.lanes[l];
    ASSERT_FALSE(a.warnings.empty());
    const LaneWarning& w = a.warnings.back();
    ASSERT_EQ(w.kind, LaneWarning::Kind::figures_only);
    const int n = static_cast<int>(w.count);
    ASSERT_GT(n, 0);
    ASSERT_LT(n, 300);
    for (int s = 0; s < 300; ++s) {
      const StepRecord &x = *a.steps[static_cast<std::size_t>(s)], &y = *b.steps[static_cast<std::size_t>(s)];
      EXPECT_EQ(x.kl, y.kl);
      EXPECT_EQ(x.heads[0].n_slots, y.heads[0].n_slots);
      EXPECT_EQ(x.heads[0].events.size(), y.heads[0].events.size());
      expect_same_number(x.heads[0].local_rel_l2, y.heads[0].local_rel_l2, "local_rel_l2");
      EXPECT_EQ(x.heads[0].pos.empty(), s < n) << "step " << s;
    }
    ASSERT_NE(a.fates, nullptr);
    EXPECT_EQ(a.fates->heads[0].left(40), b.fates->heads[0].left(40));
  }
}

TEST(AddedTokens, TakeTheMemoryOfTheirNames) {
  const std::vector<AddedToken> tokens(2000);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < tokens.size(); ++i) names.push_back(std::to_string(i) + std::string(1000, 's'));
  const long long before = live_bytes;
  const AddedTokenFinder finder(tokens, names);
  EXPECT_LT(live_bytes - before, 2'000 * 1'200);
  EXPECT_EQ(finder.find("x" + names[7] + "y", [](Span) { return false; }).size(), 3u);
}

TEST(Checkpoints, OfTheFullCacheCopyNoKeysAndValues) {
  // the lanes of two sessions differ in nothing but the checkpoints that the slots of their records allow
  RunRequest with = request_of(600, PromptMode::stream);
  with.lanes = {};
  with.detail = Detail::slots;
  RunRequest without = with;
  without.detail = Detail::events;
  constexpr std::size_t kLimit = std::size_t{1} << 19;
  const long long more = held_after(with, nullptr, kLimit) - held_after(without, nullptr, kLimit);
  const ModelConfig c = open_model(tiny_model()).config;
  const long long rows = 600LL * c.n_layers * c.n_kv_heads * c.head_dim * 2 * static_cast<long long>(sizeof(float));
  // nine checkpoints, in the mean half as long as the text: copies would be four to five times its keys and values
  EXPECT_LT(more, 4 * rows) << rows << " bytes of keys and values";
}

}  // namespace
}  // namespace kvscope
