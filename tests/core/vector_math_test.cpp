// SPDX-License-Identifier: Apache-2.0
#include "core/vector_math.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <random>
#include <vector>

namespace kvscope {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

/// Random numbers of several sizes; the length is no multiple of any vector's.
std::vector<double> numbers(double low, double high) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> draw(low, high);
  std::vector<double> out(4099);
  for (double& x : out) x = draw(random);
  return out;
}

TEST(VectorMath, ExpIsTheLibrarysToThreeTimesTenToTheMinusSixteen) {
  double worst = 0;
  for (const double range : {1e-8, 1.0, 40.0, 708.0}) {
    const std::vector<double> x = numbers(-range, range);
    std::vector<double> y = x;
    exp_all(y);
    for (std::size_t i = 0; i < x.size(); ++i) worst = std::max(worst, std::abs(y[i] / std::exp(x[i]) - 1));
  }
  RecordProperty("worst relative error", std::to_string(worst));
  EXPECT_LT(worst, 3e-16 + std::numeric_limits<double>::epsilon());  // the library's own last bit
}

TEST(VectorMath, LogIsTheLibrarysAroundOneToo) {
  double worst = 0;
  for (const auto& [low, high] : {std::pair{1e-300, 1e-290}, {0.0, 1.0}, {0.999, 1.001}, {1.0, 2.0}, {0.0, 1e300}}) {
    const std::vector<double> x = numbers(low, high);
    std::vector<double> y = x;
    log_all(y);
    for (std::size_t i = 0; i < x.size(); ++i)
      if (x[i] != 1) worst = std::max(worst, std::abs(y[i] / std::log(x[i]) - 1));
  }
  EXPECT_LT(worst, 5e-16 + std::numeric_limits<double>::epsilon());
}

TEST(VectorMath, EdgesAreThoseOfTheFunctions) {
  std::vector<double> e = {0, kInf, -kInf, NAN, 709.9, -710};
  exp_all(e);
  EXPECT_EQ(e[0], 1);
  EXPECT_EQ(e[1], kInf);
  EXPECT_EQ(e[2], 0);
  EXPECT_TRUE(std::isnan(e[3]));
  EXPECT_EQ(e[4], kInf);
  EXPECT_EQ(e[5], 0);
  std::vector<double> l = {1, 0, kInf, -1, NAN};
  log_all(l);
  EXPECT_EQ(l[0], 0);
  EXPECT_EQ(l[1], -kInf);
  EXPECT_EQ(l[2], kInf);
  EXPECT_TRUE(std::isnan(l[3]));
  EXPECT_TRUE(std::isnan(l[4]));
}

TEST(VectorMath, LogAddExpAddsShares) {
  const std::vector<double> a = numbers(-800, 800), b = numbers(-2, 3);
  std::vector<double> sum = a;
  log_add_exp_all(sum, b);
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double top = std::max(a[i], b[i]);
    const double expected = top + std::log1p(std::exp(-std::abs(a[i] - b[i])));
    EXPECT_NEAR(sum[i], expected, 1e-15 * std::max(1.0, std::abs(expected)));
  }
  std::vector<double> edges = {-kInf, -kInf, 2, NAN, 5};
  log_add_exp_all(edges, std::vector<double>{-kInf, 3, -kInf, 0, 5});
  EXPECT_EQ(edges[0], -kInf);
  EXPECT_EQ(edges[1], 3);
  EXPECT_EQ(edges[2], 2);
  EXPECT_TRUE(std::isnan(edges[3]));
  EXPECT_DOUBLE_EQ(edges[4], 5 + std::log(2.0));
}

TEST(VectorMath, ANumbersResultDoesNotDependOnItsPlace) {
  const std::vector<double> x = numbers(-30, 30);
  std::vector<double> all = x;
  exp_all(all);
  for (std::size_t i = 0; i < x.size(); i += 97) {
    std::vector<double> alone = {x[i]};
    exp_all(alone);
    EXPECT_EQ(alone[0], all[i]);
  }
}

TEST(VectorMath, SumsOfTwoPartsForgetWhatIsTakenAwayAgain) {
  const std::size_t n = 1001;
  std::vector<double> high(n, 0.0), low(n, 0.0), x = numbers(-3, 5), y = numbers(1e-9, 2e-9);
  x.resize(n);
  y.resize(n);
  const std::vector<double> nothing(n, 0.0);
  add_to_sums(high, low, y, nothing);
  for (int k = 1; k <= 40; ++k) add_to_sums(high, low, x, nothing);
  add_times_to_sums(high, low, 1'000'003, x);
  for (int k = 1; k <= 40; ++k) add_to_sums(high, low, nothing, x);
  add_times_to_sums(high, low, -1'000'003, x);
  EXPECT_EQ(high, y) << "although 5e6 was among what came and went";
}

TEST(VectorMath, WideningAndAddingDoWhatOneNumberAtATimeDoes) {
  for (const std::size_t n : {0u, 1u, 7u, 8u, 9u, 33u, 4099u}) {
    SCOPED_TRACE(n);
    std::vector<double> sum = numbers(-2, 3), want = sum, wide(n, 99);
    sum.resize(n);
    std::vector<float> x;
    for (std::size_t i = 0; i < n; ++i) x.push_back(0.1f * static_cast<float>(i % 71) - 3);
    widen(x.data(), wide);
    EXPECT_TRUE(std::equal(x.begin(), x.end(), wide.begin(), wide.end()));
    std::vector<double> twice = sum;
    add_scaled(sum, 0.7, x.data());
    add_scaled(twice, 0.7, wide.data());
    for (std::size_t i = 0; i < n; ++i) {
      EXPECT_EQ(sum[i], want[i] + 0.7 * static_cast<double>(x[i]));
      EXPECT_EQ(twice[i], sum[i]);
    }
  }
}

TEST(VectorMath, RowProductsAreThoseOfExactArithmetic) {
  for (const std::size_t n : {0u, 3u, 8u, 21u})
    for (const std::size_t width : {0u, 1u, 8u, 13u, 32u, 80u}) {
      SCOPED_TRACE(testing::Message() << n << " rows of " << width);
      std::vector<double> rows, x;
      for (std::size_t i = 0; i < n * width; ++i)
        rows.push_back(static_cast<double>(i % 11) - 4);  // whole numbers: any order gives the same
      for (std::size_t i = 0; i < width; ++i) x.push_back(static_cast<double>(i % 5) - 2);
      const std::vector<float> narrow(rows.begin(), rows.end());
      std::vector<double> out(n + 1, 99), squares(n + 1, 99), narrow_squares(n + 1, 99);
      row_products(rows.data(), x, std::span(out).first(n));
      row_squares(rows.data(), width, std::span(squares).first(n));
      row_squares(narrow.data(), width, std::span(narrow_squares).first(n));
      for (std::size_t r = 0; r < n; ++r) {
        double want = 0, square = 0;
        for (std::size_t i = 0; i < width; ++i) want += rows[r * width + i] * x[i];
        for (std::size_t i = 0; i < width; ++i) square += rows[r * width + i] * rows[r * width + i];
        EXPECT_EQ(out[r], want);
        EXPECT_EQ(squares[r], square);
        EXPECT_EQ(narrow_squares[r], square);
      }
      for (const auto* results : {&out, &squares, &narrow_squares}) EXPECT_EQ(results->back(), 99);
    }
}

TEST(VectorMath, EqualRowsHaveEqualProductsWhereverTheyStand) {
  const std::vector<double> x = numbers(-1, 1);
  constexpr std::size_t kWidth = 37, kRows = 19;
  std::vector<double> rows, out(kRows);
  for (std::size_t r = 0; r < kRows; ++r) rows.insert(rows.end(), x.begin(), x.begin() + kWidth);
  row_products(rows.data(), std::span(x).subspan(100, kWidth), out);
  for (const double y : out) EXPECT_EQ(y, out.front());
}

TEST(VectorMath, MatrixProductsAreSumsInOrder) {
  const std::vector<double> x = numbers(-3, 3);
  for (const std::size_t m : {1u, 3u, 4u, 9u})
    for (const std::size_t n : {1u, 7u, 8u, 21u})
      for (const std::size_t width : {1u, 5u, 16u}) {
        const auto a = std::span(x).first(m * width), b = std::span(x).subspan(1000, width * n);
        std::vector<double> out(m * n + 1, 17.0);
        matrix_products(a, b, n, std::span(out).first(m * n));
        for (std::size_t q = 0; q < m; ++q)
          for (std::size_t k = 0; k < n; ++k) {
            double sum = 0;
            for (std::size_t i = 0; i < width; ++i) sum += a[q * width + i] * b[i * n + k];
            ASSERT_EQ(out[q * n + k], sum) << m << " " << n << " " << width;
          }
        EXPECT_EQ(out.back(), 17.0) << "nothing is written behind the end";
      }
}

TEST(VectorMath, RowsMayStandApart) {
  constexpr std::size_t kStride = 40;
  const std::vector<double> rows = numbers(-1, 1);
  for (const std::size_t width : {0u, 5u, 8u, 39u}) {
    std::vector<double> apart(21), together(21), copy;
    for (std::size_t r = 0; r < apart.size(); ++r) copy.insert(copy.end(), &rows[r * kStride], &rows[r * kStride] + width);
    const std::vector<double> x(rows.end() - static_cast<std::ptrdiff_t>(width), rows.end());
    row_products(rows.data(), x, apart, kStride);
    row_products(copy.data(), x, together);
    EXPECT_EQ(apart, together) << width;
  }
}

TEST(VectorMath, TheNearestLevelIsTheLowerOfTwo) {
  const std::vector<double> levels = {-2, -0.5, 0.5, 3};
  std::vector<double> x = {-kInf, -7, -1.25, -1.24, 0, 1e-10, 1.75, 1.76, 9, kInf, std::numeric_limits<double>::quiet_NaN()};
  round_to_levels(x, levels);
  EXPECT_EQ(x, (std::vector<double>{-2, -2, -2, -0.5, -0.5, 0.5, 0.5, 3, 3, 3, -2}));
  const std::vector<double> many = numbers(-4, 4);
  x = many;
  round_to_levels(x, levels);
  for (std::size_t i = 0; i < x.size(); ++i)
    EXPECT_EQ(x[i], *std::ranges::min_element(levels, {}, [&](double level) { return std::abs(level - many[i]); })) << many[i];
}

TEST(VectorMath, CombinedRowsAreSumsInOrder) {
  const std::vector<double> numbers_of_all = numbers(-2, 2);
  for (const std::size_t n : {1u, 7u, 8u, 32u, 45u}) {
    std::vector<double> all(numbers_of_all.begin(), numbers_of_all.begin() + static_cast<std::ptrdiff_t>(3 * n));
    std::vector<float> narrow(all.begin(), all.end());
    const std::vector<double> weights = {0.25, 0.7, 0.05};
    std::vector<double> want(n);
    std::vector<float> want_narrow(n);
    for (std::size_t i = 0; i < n; ++i) {
      double s = 0, t = 0;
      for (std::size_t r = 0; r < 3; ++r) s += weights[r] * all[r * n + i];
      for (std::size_t r = 0; r < 3; ++r) t += weights[r] * static_cast<double>(narrow[r * n + i]);
      want[i] = 1.5 * s;
      want_narrow[i] = static_cast<float>(1.5 * t);
    }
    const std::vector<const double*> rows = {&all[0], &all[n], &all[2 * n]};
    const std::vector<const float*> narrow_rows = {&narrow[0], &narrow[n], &narrow[2 * n]};
    combine_rows(rows, weights, 1.5, std::span(all).subspan(n, n));  // into one of them
    combine_rows(narrow_rows, weights, 1.5, std::span(narrow).subspan(n, n));
    for (std::size_t i = 0; i < n; ++i) {
      EXPECT_EQ(all[n + i], want[i]);
      EXPECT_EQ(narrow[n + i], want_narrow[i]);
    }
  }
}

TEST(VectorMath, TheLargestEndWhereASortSays) {
  const std::vector<double> all = numbers(-1, 1);
  for (const bool with_equals : {false, true})
    for (const std::size_t n : {2u, 9u, 64u, 101u})
      for (std::size_t k = 1; k < n; ++k) {
        std::vector<double> x(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(n));
        for (std::size_t i = 0; i < n; i += 3) x[i] *= 1e-9;  // of several sizes
        for (std::size_t i = 0; i < n && with_equals; ++i) x[i] = std::round(x[i] * 4);
        const std::optional<Largest> found = largest(x, static_cast<int>(k));
        ASSERT_TRUE(found) << n << " " << k;
        const auto count = [&](auto is) { return static_cast<std::size_t>(std::ranges::count_if(x, is)); };
        const std::size_t above = count([&](double y) { return y > found->least; }),
                          equal = count([&](double y) { return y == found->least; });
        EXPECT_EQ(static_cast<std::size_t>(found->above), above);
        EXPECT_LE(above, k);
        EXPECT_GE(above + equal, k);
      }
}

TEST(VectorMath, TheLowestIsOfThoseThatAreNotLeftOut) {
  const std::vector<double> all = numbers(-1, 1);
  for (const std::size_t n : {0u, 1u, 7u, 8u, 64u, 101u}) {
    const std::vector<double> x(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(n));
    std::vector<char> out(n, 0);
    for (std::size_t left = n; left > 0; --left) {
      double least = kInf;
      for (std::size_t i = 0; i < n; ++i)
        if (!out[i]) least = std::min(least, x[i]);
      ASSERT_EQ(lowest(x, out), least) << n;
      out[static_cast<std::size_t>(std::ranges::find(x, least) - x.begin())] = 1;
    }
    EXPECT_EQ(lowest(x, out), kInf) << "none is left";
  }
  EXPECT_EQ(lowest(std::vector<double>{1, NAN, 0}, std::vector<char>{0, 0, 0}), -kInf);
  EXPECT_EQ(lowest(std::vector<double>{1, NAN, 0}, std::vector<char>{0, 1, 0}), 0);
}

TEST(VectorMath, TheLargestAmongOddNumbersAreRightOrNotTold) {
  const std::vector<double> x = {3, 1, 1, 1, 2, -4, 0};
  ASSERT_TRUE(largest(x, 3));
  EXPECT_EQ(largest(x, 3)->least, 1);
  EXPECT_EQ(largest(x, 3)->above, 2);
  EXPECT_EQ(largest(std::vector<double>{1, 1}, 1)->least, 1);
  EXPECT_FALSE(largest(std::vector<double>{}, 0));
  EXPECT_FALSE(largest(std::vector<double>{-kInf, 1, 2, 3}, 2));
  EXPECT_FALSE(largest(std::vector<double>{-kInf, 1, 2, 3, kInf}, 2)) << "no halfway between infinities";
  EXPECT_FALSE(largest(std::vector<double>{NAN, 1, 2, 3}, 2)) << "no order to begin with";
}

TEST(VectorMath, StandardDeviations) {
  const std::vector<double> sum = {6, 3, NAN, 0.3}, sum_sq = {20, 3, 1, 0.03 - 1e-9};
  const std::vector<int> n = {2, 3, 1, 3};
  std::vector<double> out(4);
  standard_deviations(sum, sum_sq, n, out);
  EXPECT_EQ(out[0], 1);
  EXPECT_EQ(out[1], 0);
  EXPECT_TRUE(std::isnan(out[2]));
  EXPECT_EQ(out[3], 0) << "what rounding makes of zero is not less than zero";
}

}  // namespace
}  // namespace kvscope
