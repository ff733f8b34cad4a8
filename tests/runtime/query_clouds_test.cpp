// SPDX-License-Identifier: Apache-2.0
// Where a prompt's queries point and how far away they look, against plain loops over the same rows.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <numeric>

#include "policy/catalog.h"
#include "runs.h"
#include "runtime/lane/query_clouds.h"

namespace kvscope {
namespace {

using namespace kvscope::testing;
using Complex = std::complex<double>;

/// Rows of two query heads that share a KV head of width 6: two complex numbers that positions turn, and two numbers that they do not.
struct Rows {
  static constexpr std::size_t kTokens = 40, kGroup = 2, kWidth = 6, kHalf = 2;
  std::vector<double> queries, keys;
  std::vector<double> frequencies = {0.7, 0.02};
  Rows() {
    for (std::size_t i = 0; i < kTokens * kGroup * kWidth; ++i) queries.push_back(0.4 + std::sin(1.3 * static_cast<double>(i * i % 101)));
    for (std::size_t i = 0; i < kTokens * kWidth; ++i) keys.push_back(std::cos(0.7 * static_cast<double>(i * i % 89)) - 0.2);
  }
  Complex query(std::size_t t, std::size_t g, std::size_t f) const {
    const double* row = &queries[(t * kGroup + g) * kWidth];
    return {row[f], row[f + kHalf]};
  }
  Complex key(std::size_t t, std::size_t f) const { return {keys[t * kWidth + f], keys[t * kWidth + f + kHalf]}; }
  /// Score of the query of token t, as if it stood `distance` after the key of token i.
  double score(std::size_t t, std::size_t g, std::size_t i, double distance) const {
    double z = 0;
    for (std::size_t f = 0; f < kHalf; ++f)
      z += (query(t, g, f) * std::conj(key(i, f)) * std::polar(1.0, frequencies[f] * distance)).real();
    for (std::size_t j = 2 * kHalf; j < kWidth; ++j) z += queries[(t * kGroup + g) * kWidth + j] * keys[i * kWidth + j];
    return z / std::sqrt(static_cast<double>(kWidth));
  }
  QueryCloud cloud(LayerConfig layer = {}) const { return query_cloud({queries, keys, frequencies, layer}, kWidth); }
};

TEST(QueryClouds, HaveMeanAndSpreadOfEveryFrequency) {
  const Rows rows;
  const QueryCloud cloud = rows.cloud();
  ASSERT_EQ(cloud.re.size(), Rows::kGroup * Rows::kHalf);
  for (std::size_t g = 0; g < Rows::kGroup; ++g)
    for (std::size_t f = 0; f < Rows::kHalf; ++f) {
      Complex mean;
      double square = 0;
      for (std::size_t t = 0; t < Rows::kTokens; ++t) mean += rows.query(t, g, f);
      mean /= static_cast<double>(Rows::kTokens);
      for (std::size_t t = 0; t < Rows::kTokens; ++t) square += std::norm(rows.query(t, g, f) - mean);
      const std::size_t i = g * Rows::kHalf + f;
      EXPECT_NEAR(cloud.re[i], mean.real(), 1e-12);
      EXPECT_NEAR(cloud.im[i], mean.imag(), 1e-12);
      EXPECT_NEAR(cloud.spread[i], std::sqrt(square / static_cast<double>(Rows::kTokens)), 1e-12);
    }
}

TEST(QueryClouds, ExpectAtADistanceTheMeanScoreOfAllQueriesWithAllKeysSoFarAway) {
  const Rows rows;
  const QueryCloud cloud = rows.cloud();
  EXPECT_EQ(cloud.distances, (std::vector<int>{0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32}));
  for (std::size_t b = 0; b < cloud.distances.size(); ++b) {
    const int end = b + 1 < cloud.distances.size() ? cloud.distances[b + 1] : static_cast<int>(Rows::kTokens);
    double sum = 0;
    for (int d = cloud.distances[b]; d < end; ++d)
      for (std::size_t t = 0; t < Rows::kTokens; ++t)
        for (std::size_t g = 0; g < Rows::kGroup; ++g)
          for (std::size_t i = 0; i < Rows::kTokens; ++i) sum += rows.score(t, g, i, d);
    const auto n = static_cast<double>(Rows::kTokens * Rows::kGroup * Rows::kTokens) * (end - cloud.distances[b]);
    EXPECT_NEAR(cloud.expected[b], sum / n, 1e-12) << cloud.distances[b];
  }
}

TEST(QueryClouds, MeasureScoresAndAttentionOfTheSecondHalf) {
  const Rows rows;
  for (const int window : {0, 10}) {
    const QueryCloud cloud = rows.cloud({.window = window});
    EXPECT_EQ(cloud.n_queries, 20);
    std::vector<double> sum(cloud.distances.size(), 0.0), count(sum), share(sum);
    for (std::size_t t = Rows::kTokens / 2; t < Rows::kTokens; ++t)
      for (std::size_t g = 0; g < Rows::kGroup; ++g) {
        double whole = 0;
        const auto seen = [&](std::size_t i) { return window == 0 || t - i < static_cast<std::size_t>(window); };
        const auto z = [&](std::size_t i) { return rows.score(t, g, i, static_cast<double>(t - i)); };
        for (std::size_t i = 0; i <= t; ++i) whole += seen(i) ? std::exp(z(i)) : 0;
        for (std::size_t i = 0; i <= t; ++i) {
          if (!seen(i)) continue;
          std::size_t b = 0;
          while (b + 1 < cloud.distances.size() && cloud.distances[b + 1] <= static_cast<int>(t - i)) ++b;
          sum[b] += z(i);
          count[b] += 1;
          share[b] += std::exp(z(i)) / whole / (20.0 * Rows::kGroup);
        }
      }
    for (std::size_t b = 0; b < sum.size(); ++b) {
      EXPECT_NEAR(cloud.measured[b], sum[b] / count[b], 1e-9) << window << ' ' << cloud.distances[b];
      EXPECT_NEAR(cloud.share[b], share[b], 1e-12) << window << ' ' << cloud.distances[b];
    }
    EXPECT_NEAR(std::accumulate(cloud.share.begin(), cloud.share.end(), 0.0), 1, 1e-12);
    EXPECT_EQ(cloud.distances.back(), window > 0 ? 8 : 32) << "nothing lies farther away";
  }
}

TEST(QueryClouds, AreOfTheFullCachesPromptAndOnlyWhereSomebodyAsks) {
  Session session = open_session(tiny_model());
  RunRequest request{.prompt_ids = random_ids(50, 64, 3), .lanes = parse_lane_specs({"full", "h2o:slots=10"}), .n_generate = 2};
  EXPECT_TRUE(run(session, request).lanes[0].steps[0]->clouds.empty());
  request.measures.queries = true;
  const Snapshot s = run(session, request);
  const std::vector<QueryCloud>& clouds = s.lanes[0].steps[0]->clouds;
  ASSERT_EQ(clouds.size(), static_cast<std::size_t>(s.model.n_layers * s.model.n_kv_heads));
  EXPECT_TRUE(s.lanes[0].steps[1]->clouds.empty() && s.lanes[1].steps[0]->clouds.empty());
  for (const QueryCloud& cloud : clouds) {
    EXPECT_EQ(cloud.re.size(), cloud.turn.size() * static_cast<std::size_t>(s.model.group()));
    EXPECT_EQ(cloud.turn.front(), 1) << "radians per position of the fastest";
    EXPECT_NEAR(std::accumulate(cloud.share.begin(), cloud.share.end(), 0.0), 1, 1e-9);
  }
  request.mode = PromptMode::stream;
  const Snapshot streamed = run(session, request);
  EXPECT_TRUE(streamed.lanes[0].steps[0]->clouds.empty()) << "nobody keeps the queries of a streamed prompt";
  // its steps say what each token attends to
  for (std::size_t h = 0; h < clouds.size(); ++h) {
    const QueryCloud& cloud = clouds[h];
    std::vector<double> share(cloud.share.size(), 0.0);
    for (std::size_t t = 25; t < 50; ++t) {
      const HeadRecord& head = streamed.lanes[0].steps[t]->heads[h];
      EXPECT_TRUE(head.layer == cloud.layer && head.kv_head == cloud.kv_head);
      for (std::size_t i = 0; i < head.attention.size(); ++i) {
        std::size_t b = 0;
        while (b + 1 < cloud.distances.size() && cloud.distances[b + 1] <= static_cast<int>(t) - head.attended[i]) ++b;
        share[b] += static_cast<double>(head.attention[i]) / 25;
      }
    }
    for (std::size_t b = 0; b < share.size(); ++b) EXPECT_NEAR(cloud.share[b], share[b], 1e-5) << h << ' ' << cloud.distances[b];
  }
}

/// At a long text the runs on screen take minutes, and a view of queries that is opened later asks for nothing of them.
TEST(QueryClouds, AreAddedToRunsThatStayAsTheyAre) {
  Session session = open_session(tiny_model());
  RunRequest request{.prompt_ids = random_ids(300, 64, 3), .lanes = parse_lane_specs({"full", "h2o:slots=10"}), .n_generate = 2};
  const Snapshot before = run(session, request);
  request.measures.queries = true;
  std::vector<std::size_t> seen;
  const Snapshot after = session.run(request, CancelToken(), {}, [&](Snapshot partial) {
    for (const LaneSnapshot& lane : partial.lanes) seen.push_back(lane.steps.size());
  });
  EXPECT_TRUE(std::ranges::all_of(seen, [](std::size_t n) { return n == 3; })) << "meanwhile all of them are on screen";
  for (std::size_t l = 0; l < 2; ++l)
    for (std::size_t s = 0; s < 3; ++s) EXPECT_EQ(after.lanes[l].steps[s] == before.lanes[l].steps[s], l + s > 0) << l << ' ' << s;
  Session fresh = open_session(tiny_model());
  const Snapshot expected = run(fresh, request);
  const auto &got = after.lanes[0].steps[0]->clouds, &want = expected.lanes[0].steps[0]->clouds;
  ASSERT_EQ(got.size(), static_cast<std::size_t>(after.model.n_layers * after.model.n_kv_heads));
  ASSERT_EQ(want.size(), got.size());
  for (std::size_t h = 0; h < got.size(); ++h) EXPECT_EQ(got[h].expected, want[h].expected) << h;
}

TEST(QueryClouds, DoNotLetAKeyAtTheEndReadTheTextAgain) {
  Session session = open_session(tiny_model());
  RunRequest request{.prompt_ids = random_ids(500, 64, 3), .lanes = parse_lane_specs({"full", "h2o:slots=10"}), .n_generate = 2};
  request.measures.queries = true;
  run(session, request);
  request.prompt_ids.push_back(7);
  std::vector<std::string> told;
  const Snapshot typed = session.run(request, CancelToken(), [&](const std::string& now, double) {
    if (now.find("tokens, layer") != std::string::npos) told.push_back(now);
  });
  EXPECT_EQ(told.size(), static_cast<std::size_t>(typed.model.n_layers)) << "one piece of the text: " << told.front();
  Session fresh = open_session(tiny_model());
  const Snapshot expected = run(fresh, request);
  for (std::size_t h = 0; h < typed.lanes[0].steps[0]->clouds.size(); ++h)
    EXPECT_EQ(typed.lanes[0].steps[0]->clouds[h].expected, expected.lanes[0].steps[0]->clouds[h].expected) << h;
}

/// Whoever closes the view while its text is read leaves runs that would capture them.
TEST(QueryClouds, AreNotAskedOfAReadingThatWasStoppedAndDidNotKeepThem) {
  RunRequest request{.prompt_ids = random_ids(300, 64, 3), .lanes = parse_lane_specs({"full", "h2o:slots=10"}), .n_generate = 2};
  for (const char* activity : {"tokens, layer", "compressing, layer"}) {
    Session session = open_session(tiny_model());
    CancelToken cancel;
    bool stopped = false;
    request.measures.queries = true;
    EXPECT_THROW(session.run(request, cancel,
                             [&](const std::string& now, double) {
                               if (now.find(activity) != std::string::npos) stopped = true, cancel.cancel();
                             }),
                 Cancelled);
    EXPECT_TRUE(stopped) << activity;
    request.measures.queries = false;
    EXPECT_EQ(run(session, request).lanes[0].steps.size(), 3u);
    request.measures.queries = true;
    const Snapshot s = run(session, request);
    EXPECT_EQ(s.lanes[0].steps[0]->clouds.size(), static_cast<std::size_t>(s.model.n_layers * s.model.n_kv_heads));
  }
}

}  // namespace
}  // namespace kvscope
