// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <vector>

namespace kvscope::test {

inline std::size_t at(int i) { return static_cast<std::size_t>(i); }

inline void expect_near(const std::vector<double>& got, const std::vector<double>& expected, double tolerance = 1e-12) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], tolerance) << i;
}

}  // namespace kvscope::test
