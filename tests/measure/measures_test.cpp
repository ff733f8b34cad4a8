// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "measure/distribution.h"
#include "measure/perturbation.h"

namespace kvscope {
namespace {

TEST(Distribution, KlOfAHalfAgainstAQuarterIsWhatPaperGives) {
  // p = (1/2, 1/2), q = (1/4, 3/4): 1/2 ln 2 + 1/2 ln(2/3)
  std::vector<double> p = {0, 0}, q = {0, std::log(3.0)};
  log_softmax(p);
  log_softmax(q);
  EXPECT_NEAR(kl_divergence(probabilities(p), p, q), 0.5 * std::log(2.0) + 0.5 * std::log(2.0 / 3.0), 1e-15);
  EXPECT_EQ(kl_divergence(probabilities(p), p, p), 0);
}

TEST(Distribution, LogSoftmaxOfHugeLogitsStaysFinite) {
  std::vector<double> x = {1e4, 1e4 - std::log(3.0), -1e4};
  log_softmax(x);
  EXPECT_NEAR(std::exp(x[0]), 0.75, 1e-12);
  EXPECT_NEAR(std::exp(x[1]), 0.25, 1e-12);
  EXPECT_EQ(std::exp(x[2]), 0);
}

TEST(Distribution, TiesGoToTheLowestToken) {
  const std::vector<double> x = {1, 3, 3, 2};
  EXPECT_EQ(argmax(x), 1);
  const std::vector<std::pair<int, double>> want = {{1, 3}, {2, 3}, {3, 2}};
  EXPECT_EQ(top(x, 3), want);
  EXPECT_EQ(top(x, 9).size(), 4u);
}

TEST(Distribution, TopTokensHoldTheBestOfBothWithRanksOnBothSides) {
  std::vector<double> logits = {0, 5, 1, 2}, reference = {9, 1, 0, 8};
  std::vector<double> log_p = logits, log_r = reference;
  log_softmax(log_p);
  log_softmax(log_r);
  const std::vector<TopToken> out = top_tokens(log_p, logits, log_r, reference, 3);
  ASSERT_EQ(out.size(), 3u);  // 0 and 3 of the reference, 1 of the lane; token 2 is unlikely in both
  EXPECT_EQ(out[0].id, 0);
  EXPECT_EQ(out[0].rank_reference, 1);
  EXPECT_EQ(out[0].rank, 4);
  EXPECT_EQ(out[1].id, 3);
  EXPECT_EQ(out[2].id, 1);
  EXPECT_EQ(out[2].rank, 1);
  EXPECT_NEAR(out[2].p, std::exp(5.0) / (1 + std::exp(5.0) + std::exp(1.0) + std::exp(2.0)), 1e-12);
}

TEST(Perturbation, RelativeErrorIsAgainstTheReference) {
  const std::vector<double> a = {3, 4}, b = {0, 4}, zero = {0, 0};
  EXPECT_DOUBLE_EQ(rel_l2(a, b), 0.75);
  EXPECT_EQ(rel_l2(a, a), 0);
  EXPECT_EQ(rel_l2(zero, zero), 0);
  EXPECT_TRUE(std::isnan(rel_l2(a, zero)));
  const std::vector<double> two_a = {3, 4, 1, 0}, two_b = {0, 4, 2, 0};
  EXPECT_DOUBLE_EQ(mean_rel_l2(two_a, two_b, 2), (0.75 + 0.5) / 2);
}

TEST(Perturbation, AttentionLossCountsOnlyEvictedTokens) {
  const std::vector<double> attention = {0.1, 0.2, 0.7, 0.4, 0.5, 0.1};  // two query heads, three tokens
  const std::vector<int> evicted = {2, 0};
  EXPECT_DOUBLE_EQ(attention_loss(attention, 2, evicted), (0.8 + 0.5) / 2);
  EXPECT_EQ(attention_loss(attention, 2, {}), 0);
}

}  // namespace
}  // namespace kvscope
