// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/kernels.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "backend/reference.h"

namespace kvscope::test {
namespace {

/// Distance of a float from a double in units of the float's last place.
double ulps(float got, double expected) {
  const float rounded = static_cast<float>(expected);
  const double unit = static_cast<double>(std::nextafter(std::abs(rounded), INFINITY)) - std::abs(rounded);
  return std::abs(static_cast<double>(got) - expected) / unit;
}

TEST(FloatExp, IsWithinTwoUnitsInTheLastPlaceEverywhereANormalResultIs) {
  for (const cpu::Isa isa : cpu::usable_isas()) {
    const cpu::Kernels<float>& kernels = cpu::kernels<float>(isa);
    double worst = 0;
    std::vector<float> x;
    for (double v = -87.3; v <= 88.7; v += 1.0 / 4096) x.push_back(static_cast<float>(v));
    std::vector<float> y = x;
    kernels.exp_sum(y.data(), static_cast<int>(y.size()), 0.0f);
    for (std::size_t i = 0; i < x.size(); ++i) worst = std::max(worst, ulps(y[i], std::exp(static_cast<double>(x[i]))));
    EXPECT_LT(worst, 2.0) << kernels.name;
    RecordProperty(kernels.name, std::to_string(worst));
  }
}

TEST(FloatExp, IsExactAtItsEnds) {
  for (const cpu::Isa isa : cpu::usable_isas()) {
    const cpu::Kernels<float>& kernels = cpu::kernels<float>(isa);
    for (const std::size_t pad : {0u, 20u}) {  // the same in whole vectors and in the tail
      std::vector<float> y = {0.0f, -0.0f, -INFINITY, -200.0f, -1e30f, 100.0f, NAN, -100.0f};
      y.resize(y.size() + pad, 0.0f);
      kernels.exp_sum(y.data(), static_cast<int>(y.size()), 0.0f);
      EXPECT_EQ(y[0], 1.0f);
      EXPECT_EQ(y[1], 1.0f);
      EXPECT_EQ(y[2], 0.0f);
      EXPECT_EQ(y[3], 0.0f);
      EXPECT_EQ(y[4], 0.0f);
      EXPECT_EQ(y[5], INFINITY);
      EXPECT_TRUE(std::isnan(y[6]));
      EXPECT_NEAR(y[7], std::exp(-100.0), 1e-44) << "subnormal, rounded twice at most";
    }
  }
}

TEST(Softmax, TheSumCountsEveryNumberOnce) {
  for (const cpu::Isa isa : cpu::usable_isas()) {
    for (int n = 1; n < 70; ++n) {
      std::vector<float> f(static_cast<std::size_t>(n), 3.0f);
      std::vector<double> d(static_cast<std::size_t>(n), 3.0);
      EXPECT_EQ(cpu::kernels<float>(isa).exp_sum(f.data(), n, 3.0f), static_cast<float>(n));
      EXPECT_EQ(cpu::kernels<double>(isa).exp_sum(d.data(), n, 3.0), static_cast<double>(n));
    }
  }
}

TEST(Convert, IsExactForAllHalvesAndBfloats) {
  std::vector<std::uint16_t> all(65536);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::uint16_t>(i);
  for (const cpu::Isa isa : cpu::usable_isas()) {
    std::vector<float> f(all.size()), g(all.size());
    std::vector<double> d(all.size());
    cpu::kernels<float>(isa).convert(all.data(), DType::f16, 65536, f.data());
    cpu::kernels<float>(isa).convert(all.data(), DType::bf16, 65536, g.data());
    cpu::kernels<double>(isa).convert(all.data(), DType::f16, 65536, d.data());
    for (std::size_t i = 0; i < all.size(); ++i) {
      const float half = half_to_float(all[i]), bfloat = bfloat_to_float(all[i]);
      if (std::isnan(half)) {
        ASSERT_TRUE(std::isnan(f[i]) && std::isnan(d[i]));
      } else {
        ASSERT_EQ(f[i], half);
        ASSERT_EQ(d[i], static_cast<double>(half));
      }
      if (std::isnan(bfloat)) {
        ASSERT_TRUE(std::isnan(g[i]));
      } else {
        ASSERT_EQ(g[i], bfloat);
      }
    }
  }
}

TEST(Kernels, OfEveryInstructionSetAgreeWithThePortableOnes) {
  const int rows = 7, cols = 29, k = 93;
  const Numbers x = random_numbers(static_cast<std::size_t>(rows * k), 1);
  const RandomWeight w = random_weight(DType::f16, static_cast<std::size_t>(cols * k), 2);
  std::vector<float> xf(x.begin(), x.end());
  std::vector<std::vector<float>> results;
  for (const cpu::Isa isa : cpu::usable_isas()) {
    std::vector<float> y(static_cast<std::size_t>(rows * cols));
    cpu::Dots<float> d;
    d.x = xf.data();
    d.ldx = d.ldw = d.k = k;
    d.rows = rows;
    d.w = w.bytes.data();
    d.w_type = DType::f16;
    d.cols = cols;
    d.y = y.data();
    d.ldy = cols;
    cpu::kernels<float>(isa).dots(d);
    results.push_back(y);
  }
  for (const std::vector<float>& r : results) {
    EXPECT_LT(distance(Numbers(r.begin(), r.end()), Numbers(results[0].begin(), results[0].end())), 2e-6);
  }
}

TEST(Kernels, NeverReadBehindTheEndOfARow) {
  // The number behind each row is NaN: one lane too many would show.
  for (const cpu::Isa isa : cpu::usable_isas()) {
    for (int k = 1; k < 40; ++k) {
      std::vector<float> x(static_cast<std::size_t>(k) + 1, 1.0f), w(static_cast<std::size_t>(k) + 1, 1.0f);
      x.back() = w.back() = NAN;
      float y = 0;
      cpu::Dots<float> d;
      d.x = x.data();
      d.ldx = d.ldw = k + 1;
      d.k = k;
      d.rows = d.cols = 1;
      d.w = w.data();
      d.y = &y;
      d.ldy = 1;
      cpu::kernels<float>(isa).dots(d);
      ASSERT_EQ(y, static_cast<float>(k));
    }
  }
}

}  // namespace
}  // namespace kvscope::test
