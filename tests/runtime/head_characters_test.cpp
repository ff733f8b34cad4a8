// SPDX-License-Identifier: Apache-2.0
#include "runtime/model/head_characters.h"

#include <gtest/gtest.h>

#include <cmath>

#include "paths.h"
#include "runs.h"

namespace kvscope {
namespace {

using namespace kvscope::testing;

HeadCharacters characters_of(const std::vector<std::vector<int>>& prose, const std::vector<RepeatedText>& repeated,
                             const HeadCharacterOptions& options) {
  return head_characters(open_model(model_without_groups()), {.precision = DType::f64, .n_threads = 2}, prose, repeated, options,
                         CancelToken());
}

/// Attention of the token at `position`, as a run with the full cache shows it: [layer * n_heads + head][token].
std::vector<std::vector<float>> attention_at(const std::vector<int>& ids, int position) {
  Session session = open_session(model_without_groups());
  RunRequest request;
  request.prompt_ids.assign(ids.begin(), ids.begin() + position + 1);
  const Snapshot s = run(session, request);
  std::vector<std::vector<float>> out;
  for (const HeadRecord& head : s.lanes[0].steps[0]->heads) out.push_back(head.attention);
  return out;
}

RepeatedText twice(int length, unsigned seed) {
  RepeatedText text{.ids = {1}, .first = 1, .length = length};
  const std::vector<int> ids = random_ids(length, 64, seed);
  for (int i = 0; i < 2; ++i) text.ids.insert(text.ids.end(), ids.begin(), ids.end());
  return text;
}

TEST(HeadCharacters, AreMeansOverWhatARunShows) {
  const std::vector<std::vector<int>> prose = {random_ids(30, 64, 1), random_ids(27, 64, 2)};
  const RepeatedText repeated = twice(6, 3);
  const HeadCharacterOptions options{.sinks = 2, .near = 5, .first_query = 25};
  const HeadCharacters got = characters_of(prose, {repeated}, options);
  const std::size_t n_heads = got.sink.size();
  std::vector<double> sink(n_heads), local(n_heads), previous(n_heads), entropy(n_heads), induction(n_heads);
  const double n_queries = 5 + 2;
  for (const std::vector<int>& ids : prose)
    for (int t = 25; t < static_cast<int>(ids.size()); ++t) {
      const auto rows = attention_at(ids, t);
      for (std::size_t h = 0; h < n_heads; ++h)
        for (int i = 0; i <= t; ++i) {
          const double a = rows[h][static_cast<std::size_t>(i)] / n_queries, share = rows[h][static_cast<std::size_t>(i)];
          sink[h] += i < 2 ? a : 0;
          local[h] += i > t - 5 ? a : 0;
          previous[h] += i == t - 1 ? a : 0;
          entropy[h] -= share > 0 ? a * std::log(share) : 0;
        }
    }
  for (int t = 7; t < 13; ++t) {
    const auto rows = attention_at(repeated.ids, t);
    for (std::size_t h = 0; h < n_heads; ++h) induction[h] += rows[h][static_cast<std::size_t>(t - 6 + 1)] / 6.0;
  }
  for (std::size_t h = 0; h < n_heads; ++h) {
    EXPECT_NEAR(got.sink[h], sink[h], 1e-6);
    EXPECT_NEAR(got.local[h], local[h], 1e-6);
    EXPECT_NEAR(got.previous[h], previous[h], 1e-6);
    EXPECT_NEAR(got.entropy[h], entropy[h], 1e-5);
    EXPECT_NEAR(got.induction[h], induction[h], 1e-6);
  }
}

TEST(HeadCharacters, RefuseTextsThatSayNothing) {
  const std::vector<std::vector<int>> prose = {random_ids(30, 64, 1)};
  const HeadCharacterOptions options{.sinks = 2, .near = 5, .first_query = 25};
  EXPECT_THROW(characters_of({}, {twice(6, 3)}, options), UsageError);
  EXPECT_THROW(characters_of(prose, {}, options), UsageError);
  EXPECT_THROW(characters_of({random_ids(25, 64, 1)}, {twice(6, 3)}, options), UsageError) << "no query counts";
  RepeatedText other = twice(6, 3);
  other.ids.back() ^= 1;
  EXPECT_THROW(characters_of(prose, {other}, options), UsageError) << "the second copy differs";
}

}  // namespace
}  // namespace kvscope
