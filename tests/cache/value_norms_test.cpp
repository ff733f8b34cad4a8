// SPDX-License-Identifier: Apache-2.0
#include "cache/value_norms.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "policy/apply_plan.h"

namespace kvscope {
namespace {

using testing::DoubleNear;
using testing::Pointwise;

/// Two KV heads of two query heads each, head_dim 2, dim 3.
struct ValueNorms : ::testing::Test {
  ModelConfig config{
      .n_layers = 1, .n_heads = 4, .n_kv_heads = 2, .head_dim = 2, .dim = 3, .hidden_dim = 8, .vocab_size = 8, .max_positions = 64};
  std::unique_ptr<Backend> backend = make_cpu_backend(DType::f64, config, {.n_threads = 1});
  std::vector<double> wo_numbers = [] {
    std::vector<double> w;
    for (int i = 0; i < 3 * 8; ++i) w.push_back((i * 7 % 11) - 5);
    return w;
  }();
  Weight wo = backend->weight(DType::f64, 3, 8, wo_numbers.data());
  std::vector<HeadCache> heads{2};
  std::vector<std::vector<std::array<double, 2>>> values{2};

  void SetUp() override {
    for (HeadCache& head : heads) head.kv = backend->make_kv(4);
  }
  void add(int h, double a, double b) {
    const std::array<double, 2> v{a, b};
    backend->append_kv(heads[h].kv, v.data(), v.data(), 1);
    append_slot(heads[h].slots, {}, 2, static_cast<int>(values[h].size()));
    values[h].push_back(v);
  }
  /// By the definition: mean over the group of the sum over the output of |v W_O^(g)|.
  std::vector<double> expected(int h) {
    std::vector<double> out;
    for (const auto& v : values[h]) {
      double sum = 0;
      for (int g = 2 * h; g < 2 * h + 2; ++g)
        for (int o = 0; o < 3; ++o) sum += std::abs(v[0] * wo_numbers[o * 8 + 2 * g] + v[1] * wo_numbers[o * 8 + 2 * g + 1]);
      out.push_back(sum / 2);
    }
    return out;
  }
  std::vector<double> asked(int h) { return CacheGeometry(*backend, heads, h, wo, 2).value_norms(); }
};

TEST_F(ValueNorms, AreTheMeanOverTheGroupOfTheProjectedLength) {
  for (int i = 0; i < 70; ++i) add(0, i, 1 - i);
  for (int i = 0; i < 3; ++i) add(1, 2 * i, -1);
  EXPECT_THAT(asked(0), Pointwise(DoubleNear(1e-9), expected(0)));
  EXPECT_THAT(asked(1), Pointwise(DoubleNear(1e-12), expected(1))) << "heads need not be equally long";
}

TEST_F(ValueNorms, AreKeptForSlotsThatStayAndAddedForNewOnes) {
  for (int i = 0; i < 5; ++i) add(0, i + 1, 3);
  add(1, 1, 1);
  asked(0);
  add(0, 9, 9);
  Plan plan;
  plan.removals = {{.slot = 1}, {.slot = 3}};
  apply(*backend, heads[0], {}, plan);
  EXPECT_EQ(heads[0].value_norm.size(), 3u) << "of the first five two went; nobody asked for the sixth";
  for (const int gone : {3, 1}) values[0].erase(values[0].begin() + gone);
  add(0, -2, 7);
  EXPECT_THAT(asked(0), Pointwise(DoubleNear(1e-12), expected(0)));
}

TEST_F(ValueNorms, AreComputedAnewAfterAMerge) {
  for (int i = 0; i < 3; ++i) add(0, i + 1, 3);
  add(1, 1, 1);
  asked(0);
  Plan plan;
  plan.removals = {{.slot = 0, .target = 1}};
  plan.merges.resize(1);
  plan.merges[0].target = 1;
  plan.merges[0].members = {1, 0};
  plan.merges[0].value_weights = {.5, .5};
  apply(*backend, heads[0], {}, plan);
  values[0] = {{1.5, 3}, {3, 3}};
  EXPECT_THAT(asked(0), Pointwise(DoubleNear(1e-12), expected(0)));
}

}  // namespace
}  // namespace kvscope
