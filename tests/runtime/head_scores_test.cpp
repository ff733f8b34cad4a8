// SPDX-License-Identifier: Apache-2.0
#include "runtime/model/head_scores.h"

#include <gtest/gtest.h>

#include "paths.h"
#include "runs.h"

namespace kvscope {
namespace {

using namespace kvscope::testing;

HeadScores scores_of(const std::vector<HeadProbe>& probes, const HeadScoreOptions& options) {
  return score_heads(open_model(model_without_groups()), {.precision = DType::f64, .n_threads = 2}, probes, options, CancelToken());
}

/// Attention of the last token of every prefix, as a run with the full cache shows it: [position][layer * n_kv_heads + kv_head][token].
std::vector<std::vector<std::vector<float>>> attention_of(const std::vector<int>& ids) {
  std::vector<std::vector<std::vector<float>>> out;
  Session session = open_session(model_without_groups());
  for (std::size_t n = 1; n <= ids.size(); ++n) {
    RunRequest request;
    request.prompt_ids.assign(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(n));
    const Snapshot s = run(session, request);
    out.emplace_back();
    for (const HeadRecord& head : s.lanes[0].steps[0]->heads) out.back().push_back(head.attention);
  }
  return out;
}

TEST(HeadScores, AreMeansOverWhatARunShows) {
  const std::vector<HeadProbe> probes = {{random_ids(80, 64, 1), {{60, 20}, {61, 21}, {70, 3}}}, {random_ids(30, 64, 2), {{29, 0}}}};
  const HeadScoreOptions options{.sinks = 2, .recent = 5};
  const HeadScores scores = scores_of(probes, options);
  const std::size_t n_heads = static_cast<std::size_t>(scores.n_layers) * static_cast<std::size_t>(scores.n_heads);
  ASSERT_EQ(scores.retrieval.size(), n_heads);
  ASSERT_EQ(scores.outside.size(), n_heads) << "one query head per KV head";
  std::vector<double> retrieval(n_heads, 0.0), outside(n_heads, 0.0);
  for (const HeadProbe& probe : probes) {
    const auto attention = attention_of(probe.ids);
    const int n = probe.copies.back().first + 1;  // what comes after the last query is not looked at
    for (std::size_t h = 0; h < n_heads; ++h) {
      for (const auto& [query, target] : probe.copies)
        retrieval[h] += attention[static_cast<std::size_t>(query)][h][static_cast<std::size_t>(target)] / 4.0;
      for (int t = 0; t < n; ++t)
        for (int i = options.sinks; i <= t - options.recent; ++i)
          outside[h] += attention[static_cast<std::size_t>(t)][h][static_cast<std::size_t>(i)] / n / 2.0;
    }
  }
  for (std::size_t h = 0; h < n_heads; ++h) {
    EXPECT_NEAR(scores.retrieval[h], retrieval[h], 1e-6);
    EXPECT_NEAR(scores.outside[h], outside[h], 1e-6);
  }
}

TEST(HeadScores, RefuseTextsThatSayNothing) {
  EXPECT_THROW(scores_of({}, {}), UsageError);
  EXPECT_THROW(scores_of({{random_ids(10, 64, 1), {}}}, {}), UsageError);
  EXPECT_THROW(scores_of({{random_ids(10, 64, 1), {{10, 2}}}}, {}), UsageError);
  EXPECT_THROW(scores_of({{random_ids(10, 64, 1), {{3, 4}}}}, {}), UsageError);
  EXPECT_THROW(scores_of({{random_ids(10, 64, 1), {{5, 1}, {4, 1}}}}, {}), UsageError);
}

}  // namespace
}  // namespace kvscope
