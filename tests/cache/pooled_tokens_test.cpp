// SPDX-License-Identifier: Apache-2.0
#include "cache/pooled_tokens.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "cache/head_cache.h"

namespace kvscope {
namespace {

using testing::DoubleEq;
using testing::DoubleNear;
using testing::ElementsAre;
using testing::IsEmpty;

/// One KV head of two query heads, head_dim 2; a feature each for the two numbers of a key or query.
struct Pooled : ::testing::Test {
  ModelConfig config{
      .n_layers = 1, .n_heads = 2, .n_kv_heads = 1, .head_dim = 2, .dim = 4, .hidden_dim = 8, .vocab_size = 8, .max_positions = 64};
  std::unique_ptr<Backend> backend = make_cpu_backend(DType::f64, config, {.n_threads = 1});
  const std::vector<double> one = {1, 0, 0, 1};
  const FeatureMaps maps{.n_layers = 1,
                         .n_kv_heads = 1,
                         .head_dim = 2,
                         .hidden = 2,
                         .width = 2,
                         .query_1 = one,
                         .query_2 = one,
                         .key_1 = one,
                         .key_2 = one,
                         .key_mixed = one};
  const HeadMaps head{&maps, 0, 0};
  HeadKv kv = backend->make_kv(4);
  PooledTokens pooled;

  void SetUp() override {
    const std::array<double, 6> k{3, 1, 0, 2, 5, 5}, v{10, 20, 30, 40, 50, 60};
    backend->append_kv(kv, k.data(), v.data(), 3);
  }
  std::vector<double> features(double a, double b) const { return maps.of_key(0, 0, std::array{a, b}); }
};

TEST_F(Pooled, WhatAPlanEvictsComesToTheSumsAndWhatItMergesDoesNot) {
  pool_evicted(*backend, kv, {.removals = {{.slot = 0}, {.slot = 1}, {.slot = 2, .target = 0}}}, head, pooled);
  const std::vector<double> f = features(3, 1), g = features(0, 2);
  EXPECT_EQ(pooled.n, 2);
  EXPECT_THAT(pooled.weight, ElementsAre(DoubleEq(f[0] + g[0]), DoubleEq(f[1] + g[1])));
  EXPECT_THAT(pooled.value, ElementsAre(DoubleEq(f[0] * 10 + g[0] * 30), DoubleEq(f[0] * 20 + g[0] * 40), DoubleEq(f[1] * 10 + g[1] * 30),
                                        DoubleEq(f[1] * 20 + g[1] * 40)));
}

TEST_F(Pooled, WhatComesBackLeavesThem) {
  pool_evicted(*backend, kv, {.removals = {{.slot = 0}, {.slot = 1}}}, head, pooled);
  const auto token = [this](int i) { return KvSegment{kv.k.as<double>() + 2 * i, kv.v.as<double>() + 2 * i, 1}; };
  take_out(*backend, token(0), head, pooled);
  const std::vector<double> g = features(0, 2);
  EXPECT_THAT(pooled.weight, ElementsAre(DoubleNear(g[0], 1e-14), DoubleNear(g[1], 1e-14)));
  take_out(*backend, token(1), head, pooled);
  EXPECT_EQ(pooled.n, 0);
  EXPECT_THAT(pooled.weight, IsEmpty()) << "empty, and not what rounding leaves";
}

TEST_F(Pooled, TheyAreOneSlotThatEveryQueryHeadReadsInItsOwnWay) {
  const std::array<double, 4> q{1, 0, 0, -40};  // the second one has no features at all
  EXPECT_FALSE(slot_of(*backend, pooled, head, 2, q.data())) << "nothing is in them";
  pool_evicted(*backend, kv, {.removals = {{.slot = 0}, {.slot = 1}}}, head, pooled);
  const std::optional<FurtherSlot> slot = slot_of(*backend, pooled, head, 2, q.data());
  ASSERT_TRUE(slot);
  const double psi = maps.of_query(0, 0, std::array{1.0, 0.0})[0];
  EXPECT_THAT(slot->logits, ElementsAre(DoubleNear(std::log(psi * pooled.weight[0]), 1e-14), -INFINITY));
  EXPECT_THAT(slot->values, ElementsAre(DoubleNear(pooled.value[0] / pooled.weight[0], 1e-12),
                                        DoubleNear(pooled.value[1] / pooled.weight[0], 1e-12), 0, 0));
}

TEST_F(Pooled, ACopyOfTheCacheHasItsOwn) {
  HeadCache cache{.kv = backend->clone_kv(kv), .slots = {}};
  pool_evicted(*backend, kv, {.removals = {{.slot = 0}}}, head, cache.pooled);
  HeadCache copy = clone(*backend, cache);
  pool_evicted(*backend, kv, {.removals = {{.slot = 1}}}, head, cache.pooled);
  EXPECT_EQ(copy.pooled.n, 1);
  EXPECT_THAT(copy.pooled.weight, ElementsAre(features(3, 1)[0], features(3, 1)[1]));
}

}  // namespace
}  // namespace kvscope
