// SPDX-License-Identifier: Apache-2.0
#include "slots/log_mean_rows.h"
#include "core/slot_runs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

namespace kvscope {
namespace {

using testing::ElementsAre;

constexpr double kInf = std::numeric_limits<double>::infinity();

/// ln of the mean of e^z over the numbers of one entry that are not -inf, from the rows themselves.
double log_mean(const LogMeanRows& rows, std::size_t x) {
  double top = -kInf, total = 0;
  int n = 0;
  for (int r = 0; r < rows.rows(); ++r) top = std::max(top, rows.row(r)[x]);
  for (int r = 0; r < rows.rows(); ++r) {
    const double z = rows.row(r)[x];
    if (z == -kInf) continue;
    total += std::exp(z - top);
    ++n;
  }
  return n > 0 ? top + std::log(total / n) : -kInf;
}

std::vector<double> log_means(const LogMeanRows& rows) {
  std::vector<double> out;
  rows.log_means(out);
  return out;
}

TEST(LogMeanRows, StaysTheLogMeanOfTheRowsWhileSlotsAndRowsComeAndGo) {
  constexpr int group = 2, most = 24;
  double worst = 0;
  for (unsigned seed = 1; seed <= 4; ++seed) {
    std::mt19937 random(seed);
    std::normal_distribution<double> normal;
    LogMeanRows rows(5, group);
    int n = 0;
    for (int step = 0; step < 3000; ++step) {
      rows.append_slot();
      if (++n > most) {
        std::vector<int> gone;
        const int one = static_cast<int>(random() % static_cast<unsigned>(n));
        for (int i = 0; i < n; ++i)
          if (i == one || (step % 50 == 0 && random() % 2 == 0)) gone.push_back(i);  // now and then half of them go
        const int kept = n - static_cast<int>(gone.size());
        rows.keep(runs_without(gone, n), kept);
        n = kept;
        if (n == 0) continue;
      }
      std::vector<double> z(static_cast<std::size_t>(n * group));
      for (double& x : z) x = normal(random) * (random() % 8 == 0 ? 200 : 3);  // tops that leave nothing of the others
      if (step % 7 == 0)
        for (int g = 0; g < group; ++g) z[static_cast<std::size_t>(n / 2 * group + g)] = -kInf;
      rows.push(z);
      if (step % 11 == 0 && n > 2) {
        const std::vector<double> wanted = {0.5, -0.75};
        rows.set_log_mean(n - 1, wanted);
        const std::vector<double> now = log_means(rows);
        for (std::size_t g = 0; g < 2; ++g) EXPECT_NEAR(now[static_cast<std::size_t>((n - 1) * group) + g], wanted[g], 1e-12);
      }
      const std::vector<double> means = log_means(rows);
      ASSERT_EQ(means.size(), z.size());
      for (std::size_t x = 0; x < means.size(); ++x) {
        const double want = log_mean(rows, x);
        ASSERT_EQ(std::isfinite(means[x]), std::isfinite(want)) << step << " " << x;
        if (std::isfinite(want)) worst = std::max(worst, std::abs(means[x] - want));
      }
    }
  }
  std::printf("largest error of a log-mean after 3,000 rows: %g\n", worst);
  EXPECT_LT(worst, 1e-11);
}

TEST(LogMeanRows, ANumberThatIsNoneLeavesWithItsRow) {
  LogMeanRows rows(2, 1);
  rows.append_slot();
  rows.push(std::vector{std::numeric_limits<double>::quiet_NaN()});
  EXPECT_TRUE(std::isnan(log_means(rows)[0]));
  rows.push(std::vector{1.0});
  rows.push(std::vector{1.0});
  EXPECT_THAT(log_means(rows), ElementsAre(1.0));
}

TEST(LogMeanRows, RowsLoadedAtOnceAreRowsPushedOneByOne) {
  constexpr int group = 2, n = 7, n_rows = 4;
  std::mt19937 random(3);
  std::normal_distribution<double> normal(0, 20);
  std::vector<double> z(n_rows * group * n);
  for (double& x : z) x = normal(random);
  for (int g = 0; g < group; ++g) z[static_cast<std::size_t>((n - 1) * group + g)] = -kInf;  // not seen by the oldest row
  for (int r = 0; r < n_rows; ++r) z[static_cast<std::size_t>(r * group * n)] = -kInf;       // nor this one by any
  LogMeanRows loaded(5, group), pushed(5, group);
  loaded.load(z, n_rows);
  for (int r = 0; r < n_rows; ++r) {
    const std::vector<double> row(z.begin() + r * group * n, z.begin() + (r + 1) * group * n);
    pushed.push(row);
    EXPECT_EQ(loaded.row(r), row);
  }
  for (int more = 0; more < 6; ++more) {
    const std::vector<double> a = log_means(loaded), b = log_means(pushed);
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t x = 0; x < a.size(); ++x) {
      if (std::isfinite(b[x])) {
        EXPECT_NEAR(a[x], b[x], 1e-12) << more << " " << x;
      } else {
        EXPECT_EQ(a[x], b[x]) << more << " " << x;
      }
    }
    std::vector<double> row(group * n);
    for (double& x : row) x = normal(random);
    loaded.push(row);
    pushed.push(row);
  }
}

TEST(LogMeanRows, WhatNoRowHasScoredIsMinusInfinity) {
  LogMeanRows rows(2, 1);
  rows.append_slot();
  for (int r = 0; r < 3; ++r) rows.push(std::vector{2.0});
  rows.append_slot();
  EXPECT_THAT(log_means(rows), ElementsAre(2.0, -kInf));
  rows.move_last_slot(0);
  EXPECT_THAT(log_means(rows), ElementsAre(-kInf, 2.0));
  EXPECT_THAT(rows.row(0), ElementsAre(-kInf, 2.0));
}

}  // namespace
}  // namespace kvscope
