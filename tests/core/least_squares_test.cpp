// SPDX-License-Identifier: Apache-2.0
#include "core/least_squares.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace kvscope {
namespace {

using Numbers = std::vector<double>;

struct Problem {
  std::size_t rows = 0, n = 0;
  Numbers a, m, gram, b;  // a [rows, n]; gram = a'a + ridge, b = a'm
};

Problem problem_of(Numbers a, Numbers m, double ridge) {
  Problem p{.rows = m.size(), .n = a.size() / m.size(), .a = std::move(a), .m = std::move(m), .gram = {}, .b = {}};
  p.gram.assign(p.n * p.n, 0.0);
  p.b.assign(p.n, 0.0);
  for (std::size_t r = 0; r < p.rows; ++r)
    for (std::size_t i = 0; i < p.n; ++i) {
      p.b[i] += p.a[r * p.n + i] * p.m[r];
      for (std::size_t j = 0; j < p.n; ++j) p.gram[i * p.n + j] += p.a[r * p.n + i] * p.a[r * p.n + j];
    }
  for (std::size_t i = 0; i < p.n; ++i) p.gram[i * p.n + i] += ridge;
  return p;
}

/// The conditions of Karush, Kuhn and Tucker: the gradient is 0 between the bounds, and at a bound points into it.
void expect_optimal(const Problem& p, const Numbers& x, double least, double most) {
  ASSERT_EQ(x.size(), p.n);
  double scale = 0;
  for (const double v : p.b) scale = std::max(scale, std::abs(v));
  for (std::size_t i = 0; i < p.n; ++i) {
    EXPECT_TRUE(x[i] >= least && x[i] <= most) << x[i];
    double gradient = -p.b[i];
    for (std::size_t j = 0; j < p.n; ++j) gradient += p.gram[i * p.n + j] * x[j];
    EXPECT_TRUE(x[i] == least || gradient <= 1e-9 * scale) << i << ": it would be better smaller";
    EXPECT_TRUE(x[i] == most || gradient >= -1e-9 * scale) << i << ": it would be better larger";
  }
}

TEST(LeastSquares, AFactorSolves) {
  Numbers a = {4, 0, 2, 5}, b = {8, 4, 14, 12};  // the lower half of ((4, 2), (2, 5)); two right sides
  ASSERT_TRUE(factorise(a, 2));
  solve_factorised(a, 2, b, 2);
  const Numbers expected = {0.75, -0.25, 2.5, 2.5};
  for (std::size_t i = 0; i < b.size(); ++i) EXPECT_NEAR(b[i], expected[i], 1e-14);
}

TEST(LeastSquares, WhatHasNoFactorIsSaid) {
  Numbers flat = {1, 0, 1, 1}, odd = {1, 0, std::numeric_limits<double>::quiet_NaN(), 1};
  EXPECT_FALSE(factorise(flat, 2)) << "two columns that are alike";
  EXPECT_FALSE(factorise(odd, 2));
  EXPECT_TRUE(bounded_least_squares(Numbers{1, 1, 1, 1}, Numbers{1, 1}, 0, 1).empty());
  EXPECT_TRUE(bounded_least_squares(Numbers{1}, Numbers{std::numeric_limits<double>::infinity()}, 0, 1).empty());
}

TEST(LeastSquares, NoUnknownsHaveNoSolution) { EXPECT_TRUE(bounded_least_squares({}, {}, 0, 1).empty()); }

TEST(LeastSquares, AnExactSolutionBetweenTheBoundsIsFound) {
  const Problem p = problem_of({1, 0, 0, 2, 1, 1}, {2, 6, 5}, 0);
  const Numbers x = bounded_least_squares(p.gram, p.b, 0, 10);
  EXPECT_NEAR(x[0], 2, 1e-12);
  EXPECT_NEAR(x[1], 3, 1e-12);
}

TEST(LeastSquares, ABoundMovesTheOthers) {
  // without bounds (-1, 2); with x0 = 0 the second is the best by itself: (1 2 + 1 1)/2
  const Problem p = problem_of({0, 1, 1, 1}, {2, 1}, 0);
  const Numbers x = bounded_least_squares(p.gram, p.b, 0, 10);
  EXPECT_EQ(x[0], 0);
  EXPECT_NEAR(x[1], 1.5, 1e-12);
  EXPECT_NEAR(bounded_least_squares(p.gram, p.b, 0, 1.2)[1], 1.2, 0) << "and an upper one holds as well";
}

TEST(LeastSquares, RandomProblemsEndWhereNothingIsGained) {
  std::mt19937 random(4);
  std::uniform_real_distribution<double> uniform;
  int at_bound = 0, between = 0;
  for (int trial = 0; trial < 400; ++trial) {
    const std::size_t n = 1 + random() % 40, rows = 1 + random() % 80;
    Numbers a(rows * n), m(rows);
    const double steep = 12 * uniform(random);
    for (std::size_t r = 0; r < rows; ++r) {  // as attention: numbers from 0 to 1, most of them small, and sums over more than the columns
      for (std::size_t i = 0; i < n; ++i) m[r] += a[r * n + i] = std::exp(-steep * uniform(random));
      m[r] += 3 * uniform(random) * uniform(random);
    }
    double trace = 0;
    for (const double x : a) trace += x * x;
    const Problem p = problem_of(a, m, trace / static_cast<double>(n) * (trial % 2 ? 1e-2 : 1e-5));
    const double least = std::exp(-3), most = std::exp(trial % 3);
    const Numbers x = bounded_least_squares(p.gram, p.b, least, most);
    expect_optimal(p, x, least, most);
    for (const double v : x) ++(v == least || v == most ? at_bound : between);
    if (HasFailure()) FAIL() << "trial " << trial << ", " << n << " unknowns, " << rows << " rows";
  }
  EXPECT_GT(at_bound, 500);
  EXPECT_GT(between, 500);
}

}  // namespace
}  // namespace kvscope
