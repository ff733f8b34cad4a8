// SPDX-License-Identifier: Apache-2.0
#include "core/feature_maps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace kvscope {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;

/// x times the share of a normal distribution that lies below it: gelu(1) = 0.8413447460685429.
constexpr double kGelu1 = 0.8413447460685429, kGeluMinus1 = -0.15865525393145707;

/// Two heads of head_dim 2 with one number between the layers and two features. The second one sees nothing.
FeatureMaps maps() {
  return {.n_layers = 1,
          .n_kv_heads = 2,
          .head_dim = 2,
          .hidden = 1,
          .width = 2,
          .query_1 = {1, 3, 0, 0},
          .query_2 = {1 / kGelu1, -1 / kGelu1, 5, 5},
          .key_1 = {3, 1, 0, 0},
          .key_2 = {1 / kGelu1, -1 / kGelu1, 5, 5},
          .key_mixed = {1, -2, 1, 1, 5, 5, 5, 5}};
}

TEST(FeatureMaps, AQuerysFeaturesAreTwoLayersWithoutSign) {
  const double q[] = {-2, 1};  // 1 after the first layer: gelu(1), then 1 and -1
  EXPECT_THAT(maps().of_query(0, 0, q), ElementsAre(DoubleNear(kGelu1, 1e-15), DoubleNear(-kGeluMinus1, 1e-15)));
}

TEST(FeatureMaps, AKeysFeaturesAreMixedBeforeTheSignGoes) {
  const double k[] = {1, -2};
  EXPECT_THAT(maps().of_key(0, 0, k),
              ElementsAre(DoubleNear(kGelu1 + kGeluMinus1, 1e-15), DoubleNear(std::abs(-2 * kGelu1 + kGeluMinus1), 1e-15)));
}

TEST(FeatureMaps, EveryHeadHasItsOwn) {
  const double x[] = {-2, 1};
  EXPECT_THAT(maps().of_query(0, 1, x), ElementsAre(0, 0));
  EXPECT_THAT(maps().of_key(0, 1, x), ElementsAre(0, 0));
}

}  // namespace
}  // namespace kvscope
