// SPDX-License-Identifier: Apache-2.0
#include "app/window/panels/runs/sweep_data.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <gtest/gtest.h>

#include "app/window/panels/runs/curve_paint.h"
#include "app/window/panels/runs/sweep_scale.h"
#include "app/window/shell/panel_paint.h"
#include "snapshot/figures.h"
#include "viz/reduce/run_look.h"
#include "viz/synthetic.h"

namespace kvscope {
namespace {

const std::vector<std::string> kRuns = {"h2o:slots=8", "h2o:slots=16", "random:slots=8,seed=0", "random:slots=8,seed=1", "random:slots=16"};

SweepFigures figures(double kl) {
  SweepFigures f;
  f.mean_kl = kl;
  f.bytes = 1000;
  return f;
}

TEST(SweepData, RunsOfAPolicyAreOneCurveAndSeedsOneMark) {
  SweepData data;
  data.setRuns(kRuns, 100);
  const auto series = data.series();
  ASSERT_EQ(series.size(), 2u);
  EXPECT_EQ(series[0].title, "H2O");
  ASSERT_EQ(series[1].marks.size(), 2u);
  EXPECT_EQ(series[1].marks[0].slots, 8);
  EXPECT_EQ(series[1].marks[0].points.size(), 2u);
}

TEST(SweepData, ASlotThatIsCutOffIsNotAsked) {
  SweepData data;
  data.setRuns({"h2o:ratio=0.25", "h2o:ratio=0.25,round=down"}, 167);  // 41.75
  EXPECT_EQ(data.points()[0].slots, 42);
  EXPECT_EQ(data.points()[1].slots, 41);
}

TEST(SweepData, ABandIsTheLeastAndTheMostOfTheSeeds) {
  SweepData data;
  data.setRuns(kRuns, 100);
  data.set(kRuns[2], figures(1));
  data.set(kRuns[3], figures(3));
  const SweepMark mark = data.series()[1].marks[0];
  EXPECT_DOUBLE_EQ(mark.mean(SweepMetric::mean_kl), 2);
  EXPECT_DOUBLE_EQ(mark.least(SweepMetric::mean_kl), 1);
  EXPECT_DOUBLE_EQ(mark.most(SweepMetric::mean_kl), 3);
  EXPECT_TRUE(std::isnan(mark.mean(SweepMetric::top1))) << "not measured is no zero";
}

TEST(SweepData, OnlyValuesThatSpanTwoDecadesAreWorthALogarithm) {
  SweepData data;
  data.setRuns(kRuns, 100);
  EXPECT_FALSE(spansTwoDecades(data.series(), SweepMetric::mean_kl)) << "nothing is measured";
  data.set(kRuns[0], figures(0.01));
  data.set(kRuns[1], figures(0.9));
  EXPECT_FALSE(spansTwoDecades(data.series(), SweepMetric::mean_kl));
  data.set(kRuns[2], figures(2));
  EXPECT_TRUE(spansTwoDecades(data.series(), SweepMetric::mean_kl));
  EXPECT_FALSE(spansTwoDecades(data.series(), SweepMetric::bytes)) << "all alike";
}

TEST(SweepData, AnotherNameIsTheSameRun) {
  SweepData data;
  data.setRuns({"custom:stat=mean,name=Foo,slots=8"}, 100);
  data.set("custom:stat=mean,name=Foo,slots=8", figures(1));
  data.setRuns({"custom:stat=mean,name=Bar,slots=8"}, 100);
  EXPECT_EQ(data.nMeasured(), 1);
  ASSERT_EQ(data.series().size(), 1u);
  EXPECT_EQ(data.series()[0].title.substr(0, 4), "Bar ") << data.series()[0].title;
  EXPECT_TRUE(data.set("custom:stat=mean,name=Foo,slots=8", figures(2))) << "it was still running under the old name";
  data.setRuns({"custom:stat=sum,name=Bar,slots=8"}, 100);
  EXPECT_EQ(data.nMeasured(), 0) << "what it computes is another";
}

TEST(SweepData, WhatIsMeasuredStaysWhileMoreIsChosenAndGoesWithTheText) {
  SweepData data;
  data.setRuns({kRuns[0]}, 100);
  data.setText("one");
  EXPECT_TRUE(data.set(kRuns[0], figures(1)));
  EXPECT_FALSE(data.set("knorm:slots=1", figures(1)));
  data.setRuns(kRuns, 100);
  EXPECT_EQ(data.nMeasured(), 1);
  EXPECT_EQ(data.missing().size(), 4u);
  EXPECT_FALSE(data.setText("one"));
  EXPECT_TRUE(data.setText("another"));
  EXPECT_EQ(data.nMeasured(), 0);
  EXPECT_EQ(data.table().rows[0][4], "not yet");
}

TEST(SweepData, ARefusedRunIsNotWaitedFor) {
  SweepData data;
  data.setRuns(kRuns, 100);
  data.fail(kRuns[0], "too few slots");
  EXPECT_EQ(data.missing().size(), 4u);
  EXPECT_EQ(data.table().rows[0][4], "refused");
}

TEST(SweepData, FiguresAreThoseOfTheComparison) {
  Snapshot s = synthetic::make_snapshot();
  const SweepFigures f = figuresOf(s);
  double kl = 0;
  int n = 0;
  for (std::size_t i = 1; i < s.lanes.back().steps.size(); ++i, ++n) kl += s.lanes.back().steps[i]->kl;
  EXPECT_NEAR(f.mean_kl, kl / n, 1e-12) << "the prompt's own step does not count";
  EXPECT_DOUBLE_EQ(f.bytes, s.lanes.back().bytes);
}

TEST(SweepData, TheSlotsHeldAreThoseAtTheEndAndNotThoseAsked) {
  Snapshot s = synthetic::make_snapshot(synthetic::Shape{.prefill = false});  // steps that read the prompt hold what they have read so far
  const LaneSnapshot& lane = s.lanes.back();
  const SweepFigures f = figuresOf(s);
  double held = 0;
  for (const HeadRecord& h : lane.steps.back()->heads) held += static_cast<double>(h.pos.size());
  held /= static_cast<double>(lane.steps.back()->heads.size());
  SweepData data;
  data.setRuns({"h2o:slots=8"}, 100);
  data.set("h2o:slots=8", f);
  EXPECT_NEAR(data.series()[0].marks[0].held(), held, 1e-9);
  EXPECT_NEAR(held, run_figures(s, lane).slots, 1e-9) << "what kvscope-cli run and sweep print";
  const viz::Table table = data.table();
  const auto column = [&](const char* title) {
    return static_cast<std::size_t>(std::ranges::find(table.columns, title) - table.columns.begin());
  };
  EXPECT_EQ(table.rows[0][column("slots asked")], "8");
  EXPECT_EQ(std::stod(table.rows[0][column("slots held at the end (mean per head)")]), f.slots) << "a plain number, exactly";
  EXPECT_EQ(std::stod(table.rows[0][column("mean KL (nats)")]), f.mean_kl);
  EXPECT_EQ(std::stod(table.rows[0][column("KV bytes (at the end)")]), f.bytes);
}

TEST(CurveLook, APolicyLooksAsItsRunInTheComparisonOnEveryPage) {
  Snapshot snapshot;
  for (const char* policy : {"full", "h2o", "keepkv", "h2o", "tova", "cam", "knorm", "d2o"}) {
    snapshot.lanes.emplace_back();
    snapshot.lanes.back().policy = snapshot.lanes.back().spec = policy;
  }
  std::vector<std::string> policies = {"snapkv", "keepkv", "tova", "h2o", "cam", "d2o", "knorm", "zeromerge"};
  for (int i = 0; i < 6; ++i) policies.push_back("other " + std::to_string(i));
  const std::vector<CurveLook> looks = looksOf(policies, snapshot);
  const viz::Theme& theme = viz::light_theme();
  std::set<std::pair<QRgb, int>> seen;
  for (std::size_t c = 0; c < looks.size(); ++c) {
    for (int lane = static_cast<int>(snapshot.lanes.size()) - 1; lane > 0; --lane) {  // the first of a policy
      if (snapshot.lanes[static_cast<std::size_t>(lane)].policy != policies[c] || (policies[c] == "h2o" && lane != 1)) continue;
      EXPECT_EQ(looks[c].colour(theme, false).rgb() & 0xffffff, viz::lane_colour(theme, lane).value) << policies[c];
      EXPECT_EQ(looks[c].marker(), viz::marker_of_lane(lane)) << policies[c];
    }
    EXPECT_TRUE(seen.emplace(looks[c].colour(theme, true).rgb(), looks[c].marker() % 6).second) << policies[c] << ": no two look alike";
  }
  EXPECT_EQ(looks.back().colour(theme, false), toColor(theme.disabled)) << "grey, until one points at it";
}

TEST(AxisScale, IsLinearFromZeroOrLogarithmicWithALineForZero) {
  const AxisScale linear({2, 10}, false, true);
  EXPECT_DOUBLE_EQ(linear.at(0), 0);
  EXPECT_GT(linear.at(10), 0.9);
  const AxisScale log({0.001, 0.1, 10}, true, true);
  EXPECT_NEAR(log.at(0.1) - log.at(0.001), log.at(10) - log.at(0.1), 1e-12);
  EXPECT_FALSE(log.has_zero());
  const AxisScale zero({0, 0.001, 10}, true, true);
  EXPECT_TRUE(zero.has_zero());
  EXPECT_EQ(zero.at(0), 0);
  EXPECT_GT(zero.at(0.001), 0.05);
  EXPECT_EQ(zero.ticks(5).front(), 0);
  for (const AxisScale& s : {linear, log, zero})
    for (const double tick : s.ticks(6)) EXPECT_LE(s.at(tick), 1.0001);
}

TEST(AxisScale, NothingToShowIsNoCrash) {
  const AxisScale none({NAN, INFINITY}, true, true);
  EXPECT_FALSE(none.logarithmic());
  EXPECT_FALSE(none.ticks(5).empty());
}

}  // namespace
}  // namespace kvscope
