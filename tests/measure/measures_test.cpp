// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <iostream>
#include <numeric>
#include <random>
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

TEST(Perturbation, AgreementCountsTheQueryHeadsThatRankATokenInsideTheBudget) {
  // Two query heads over four tokens; the second has a tie for its second place, which goes to the lower position.
  const std::vector<double> a = {0.4, 0.3, 0.2, 0.1, /**/ 0.1, 0.2, 0.2, 0.5};
  EXPECT_EQ(agreement(a, 2, 2), (std::vector<std::uint8_t>{1, 2, 0, 1}));
  EXPECT_EQ(agreement(a, 2, 3), (std::vector<std::uint8_t>{1, 2, 2, 1}));
  EXPECT_EQ(agreement(a, 2, 4), (std::vector<std::uint8_t>{2, 2, 2, 2}));
  EXPECT_EQ(agreement(a, 2, 99), (std::vector<std::uint8_t>{2, 2, 2, 2}));
  EXPECT_EQ(agreement(a, 1, 1), (std::vector<std::uint8_t>{0, 0, 0, 0, 0, 0, 0, 1}));
}

TEST(Perturbation, ThetaOfTheWorkedExampleOfCriticalKv) {
  const std::vector<double> attention = {0.5, 0.3, 0.2}, nu = {1, 1, 4};
  EXPECT_NEAR(theta_bound(attention, 1, std::vector{0, 1}, nu, 1), 1.0, 1e-12);
  EXPECT_NEAR(theta_bound(attention, 1, std::vector{0, 2}, nu, 1), 1.6 - (2 - 1 / 0.7) * 1.3, 1e-12);  // 0.857
  EXPECT_EQ(theta_bound(attention, 1, std::vector{0, 1, 2}, nu, 1), 0);
  EXPECT_TRUE(std::isnan(theta_bound(std::vector<double>{0, 1}, 1, std::vector{0}, std::vector<double>{1, 1}, 1)));
  // a second query head adds its own; norms lie token by token
  const std::vector<double> two = {0.5, 0.3, 0.2, 0.5, 0.3, 0.2}, both = {1, 1, 1, 1, 4, 4};
  EXPECT_NEAR(theta_bound(two, 2, std::vector{0, 1}, both, 2), 2.0, 1e-12);
}

// CriticalKV, Theorem 3.3: whatever is kept, the output after W_O moves by at most theta (L1). Prints how near it came.
TEST(Perturbation, TheoremThreePointThreeBoundsTheErrorOfAnySelection) {
  std::mt19937 generator(7);
  std::normal_distribution<double> normal;
  double nearest = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    const int n = 3 + static_cast<int>(generator() % 30), d = 4, dim = 12;
    const auto numbers = [&](int count, double scale) {
      std::vector<double> out(static_cast<std::size_t>(count));
      for (double& x : out) x = scale * normal(generator);
      return out;
    };
    std::vector<double> a = numbers(n, 2);
    log_softmax(a);
    for (double& x : a) x = std::exp(x);
    const std::vector<double> v = numbers(n * d, 1), wo = numbers(d * dim, 1);
    const auto out_of = [&](const std::vector<double>& weights) {  // sum_i weights_i v_i W_O
      std::vector<double> out(static_cast<std::size_t>(dim), 0.0);
      for (int i = 0; i < n; ++i)
        for (int k = 0; k < d; ++k)
          for (int c = 0; c < dim; ++c) out[c] += weights[i] * v[i * d + k] * wo[k * dim + c];
      return out;
    };
    std::vector<double> nu;
    for (int i = 0; i < n; ++i) {
      std::vector<double> alone(static_cast<std::size_t>(n), 0.0);
      alone[i] = 1;
      double norm = 0;
      for (const double x : out_of(alone)) norm += std::abs(x);
      nu.push_back(norm);
    }
    std::vector<int> kept(static_cast<std::size_t>(n));
    std::iota(kept.begin(), kept.end(), 0);
    std::shuffle(kept.begin(), kept.end(), generator);
    kept.resize(1 + generator() % static_cast<unsigned>(n - 1));
    double sigma = 0, closed = 0;
    std::vector<double> weights(static_cast<std::size_t>(n), 0.0);
    for (const int i : kept) sigma += a[i];
    for (const int i : kept) weights[i] = a[i] / sigma;
    const std::vector<double> full = out_of(a), less = out_of(weights);
    double error = 0;
    for (int c = 0; c < dim; ++c) error += std::abs(full[c] - less[c]);
    const double theta = theta_bound(a, 1, kept, nu, 1);
    EXPECT_LE(error, theta * (1 + 1e-12)) << trial;
    // the paper's other form: C - (2 - 1/sigma) sum N_i A_i nu_i
    for (int i = 0; i < n; ++i) closed += a[i] * nu[i];
    for (const int i : kept) closed -= (2 - 1 / sigma) * a[i] * nu[i];
    EXPECT_NEAR(theta, closed, 1e-9 * (1 + theta)) << trial;
    nearest = std::max(nearest, error / theta);
  }
  std::cout << "2000 selections: the error reached at most " << nearest << " of its bound\n";
  RecordProperty("largest_error_over_theta", std::to_string(nearest));
  EXPECT_GT(nearest, 0.3);  // a bound that nothing comes near would say nothing
}

TEST(Perturbation, PredictorErrorIsMeanOverWhatWasPredicted) {
  const double none = -std::numeric_limits<double>::infinity();
  // two slots, two query heads; lshat slot by slot, z head by head; the second slot was never scored by head 1
  const std::vector<double> lshat = {1.0, 2.0, 3.0, none}, z = {0.5, 2.5, 2.0, 7.0}, extra = {0.5, 0.0};
  const PredictorError error = predictor_error(lshat, z, extra, 2);
  EXPECT_NEAR(error.log, (0.0 + 0.5 + 0.5) / 3, 1e-15);
  EXPECT_NEAR(error.relative, (0.0 + (1 - std::exp(-0.5)) + (std::exp(0.5) - 1)) / 3, 1e-15);
  EXPECT_TRUE(std::isnan(predictor_error({}, {}, {}, 2).log));
}

}  // namespace
}  // namespace kvscope
