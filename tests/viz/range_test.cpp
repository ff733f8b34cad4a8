// SPDX-License-Identifier: Apache-2.0
#include "viz/reduce/range.h"

#include <gtest/gtest.h>

#include <cmath>

#include "viz/draw/format.h"
#include "viz/headless.h"
#include "viz/reduce/compare.h"
#include "viz/synthetic.h"
#include "viz/views/compare/compare.h"
#include "viz/views/head_grid/head_grid.h"
#include "viz/views/timeline/timeline.h"

namespace kvscope::viz {
namespace {

Snapshot read_by_token() {
  synthetic::Shape shape;
  shape.n_layers = 3;
  shape.n_prompt = 60;
  shape.slots = 20;
  shape.prefill = false;
  return synthetic::make_snapshot(shape);
}

/// A lane whose records lack some numbers.
LaneSnapshot with_gaps(LaneSnapshot lane) {
  for (const int s : {11, 12, 30}) {
    auto record = std::make_shared<StepRecord>(*lane.steps[static_cast<std::size_t>(s)]);
    record->kl = kNotAvailable;
    record->heads[1].attention_loss = kNotAvailable;
    record->heads[2].local_l1_wo = kNotAvailable;
    lane.steps[static_cast<std::size_t>(s)] = record;
  }
  return lane;
}

TEST(StatisticsTest, LeaveOutWhatIsNoNumber) {
  Statistics s;
  EXPECT_TRUE(std::isnan(s.mean()));
  EXPECT_TRUE(std::isnan(s.min));
  for (const double v : {kNotAvailable, -2.0, 5.0, kNotAvailable, 0.0}) s.add(v);
  EXPECT_EQ(s.n, 3);
  EXPECT_EQ(s.mean(), 1);
  EXPECT_EQ(s.min, -2);
  EXPECT_EQ(s.max, 5);
}

TEST(StepsWithinTest, ClipsToTheStepsThereAre) {
  const Snapshot snapshot = read_by_token();
  const LaneSnapshot& lane = snapshot.lanes[0];
  const int last = static_cast<int>(lane.steps.size()) - 1;
  EXPECT_EQ(steps_within(lane, std::nullopt), (StepRange{0, last}));
  EXPECT_EQ(steps_within(lane, StepRange{-5, 3}), (StepRange{0, 3}));
  EXPECT_EQ(steps_within(lane, StepRange{last, last + 40}), (StepRange{last, last}));
  EXPECT_EQ(steps_within(lane, StepRange{last + 1, last + 40}), std::nullopt);
  EXPECT_EQ(steps_within(LaneSnapshot{}, std::nullopt), std::nullopt);
}

TEST(RunFiguresTest, EqualAPlainLoopForEveryRange) {
  const Snapshot snapshot = read_by_token();
  for (const LaneSnapshot& whole : snapshot.lanes) {
    const LaneSnapshot lane = with_gaps(whole);
    const int n = static_cast<int>(lane.steps.size());
    for (int first = 0; first < n; first += 7) {
      for (int last = first; last < n; last += 5) {
        double kl = 0, kl_max = -1, slots = 0, loss = 0;
        int n_kl = 0, n_loss = 0, same = 0, removed = 0;
        for (int s = first; s <= last; ++s) {
          const StepRecord& r = *lane.steps[static_cast<std::size_t>(s)];
          if (!std::isnan(r.kl)) kl += r.kl, ++n_kl, kl_max = std::max(kl_max, r.kl);
          same += r.top1_same;
          double slots_here = 0, loss_here = 0;
          int measured = 0;
          for (const HeadRecord& h : r.heads) {
            slots_here += static_cast<double>(h.pos.size()) / static_cast<double>(r.heads.size());
            if (!std::isnan(h.attention_loss)) loss_here += h.attention_loss, ++measured;
            removed += static_cast<int>(h.events.size());
          }
          slots = slots_here;
          if (measured > 0) loss += loss_here / measured, ++n_loss;
        }
        const RunFigures got = run_figures(snapshot, lane, first, last);
        ASSERT_EQ(got.n_steps, last - first + 1);
        ASSERT_EQ(got.kl.n, n_kl);
        if (n_kl > 0) {
          ASSERT_NEAR(got.kl.mean(), kl / n_kl, 1e-12);
          ASSERT_EQ(got.kl.max, kl_max);
        } else {
          ASSERT_TRUE(std::isnan(got.kl.mean()));
        }
        ASSERT_EQ(got.top1_same, same);
        ASSERT_EQ(got.evicted + got.merged, removed);
        ASSERT_NEAR(got.slots, slots, 1e-9);
        ASSERT_EQ(got.attention_loss.n, n_loss);
        if (n_loss > 0) {
          ASSERT_NEAR(got.attention_loss.mean(), loss / n_loss, 1e-12);
        }
      }
    }
  }
}

TEST(RunFiguresTest, OfOneHeadEqualAPlainLoop) {
  const Snapshot snapshot = read_by_token();
  const LaneSnapshot lane = with_gaps(snapshot.lanes[3]);
  const StepRange steps{9, 33};
  for (int head = 0; head < 12; ++head) {
    double sum = 0;
    int n = 0, evicted = 0;
    for (int s = steps.first; s <= steps.last; ++s) {
      const HeadRecord& h = lane.steps[static_cast<std::size_t>(s)]->heads[static_cast<std::size_t>(head)];
      if (!std::isnan(h.local_l1_wo)) sum += h.local_l1_wo, ++n;
      evicted = h.evicted_votes;
    }
    evicted -= lane.steps[8]->heads[static_cast<std::size_t>(head)].evicted_votes;
    const Statistics got = head_statistics(lane, steps, head, [](const HeadRecord& h, int) { return h.local_l1_wo; });
    ASSERT_EQ(got.n, head == 2 ? 22 : 25);
    ASSERT_EQ(got.n, n);
    ASSERT_NEAR(got.mean(), sum / n, 1e-12);
    ASSERT_EQ(votes_lost_within(lane, steps, head), evicted);
    ASSERT_EQ(votes_lost_within(lane, {0, 8}, head) + evicted, votes_lost_within(lane, {0, 33}, head)) << "parts add up";
  }
  EXPECT_EQ(head_statistics(lane, steps, 99, [](const HeadRecord&, int) { return 1.0; }).n, 0);
  EXPECT_TRUE(std::isnan(votes_lost_within(lane, steps, -1)));
}

TEST(RunFiguresTest, TheComparisonTakesItsMeansFromThem) {
  const Snapshot snapshot = read_by_token();
  const LaneSnapshot& lane = snapshot.lanes[2];
  const StepRange steps{20, 65};
  const RunFigures want = run_figures(snapshot, lane, steps.first, steps.last);
  const LaneMetrics got = lane_metrics(snapshot, lane, 3, 3, steps);
  EXPECT_EQ(got.means.kl.mean(), want.kl.mean());
  EXPECT_EQ(got.means.top1_same, want.top1_same);
  EXPECT_EQ(got.means.n_steps, want.n_steps);
  EXPECT_EQ(got.attention_loss, want.attention_loss.mean());
  EXPECT_EQ(got.nll, want.nll.mean());
  EXPECT_EQ(got.kl, lane.steps[3]->kl) << "the shown step's own number stays";
  const LaneMetrics without = lane_metrics(snapshot, lane, 3, 3);
  EXPECT_EQ(without.means.n_steps, static_cast<int>(lane.steps.size())) << "a streamed prompt is the run's own work";
  EXPECT_EQ(without.slots, static_cast<double>(lane.steps[3]->heads[0].pos.size()));
}

TEST(RangeTextTest, NamesOneStepOrBothEnds) {
  EXPECT_EQ(range_text({7, 7}), "step 7");
  EXPECT_EQ(range_text({10, 40}), "steps 10–40");
}

class RangeViewsTest : public ::testing::Test {
 protected:
  RangeViewsTest() { canvas.frame.selection.lane = 3; }
  Snapshot snapshot = synthetic::make_snapshot();  // prefill and 12 steps
  testing::Headless canvas{snapshot, {828, 174}};
};

TEST_F(RangeViewsTest, DraggingAlongTheStepNumbersLimitsTheSteps) {
  Timeline view;
  canvas.draw(view);
  const auto below = [&](const char* step) { return ImVec2{testing::centre(*testing::find_mark(view, "column", step)).x, 144}; };
  canvas.drag(view, below("step 9"), below("step 4"));
  canvas.apply();
  EXPECT_EQ(canvas.frame.selection.steps, (StepRange{4, 9})) << "in either direction";
  EXPECT_FALSE(canvas.frame.selection.step) << "the shown step stays";
  canvas.draw(view);
  const Mark* range = testing::find_mark(view, "range", "steps 4–9");
  ASSERT_NE(range, nullptr);
  EXPECT_EQ(range->value, "6 steps");
  EXPECT_NEAR(range->min.x, testing::find_mark(view, "column", "step 4")->min.x, 1);
  canvas.click(view, below("step 2"));
  canvas.apply();
  EXPECT_EQ(canvas.frame.selection.step, 2) << "a click is no range";
  EXPECT_EQ(canvas.frame.selection.steps, (StepRange{4, 9}));
}

TEST_F(RangeViewsTest, TheTimelineCountsAndListsTheRangeOnly) {
  Timeline view;
  canvas.frame.selection.steps = StepRange{4, 9};
  const RunFigures want = run_figures(snapshot, snapshot.lanes[3], 4, 9);
  EXPECT_NE(view.facts(canvas.frame).find("of 6 · mean KL " + format_number(want.kl.mean())), std::string::npos)
      << view.facts(canvas.frame);
  const Table table = view.table(canvas.frame);
  ASSERT_EQ(table.rows.size(), 6u);
  EXPECT_EQ(table.rows.front()[0], "4");
  EXPECT_EQ(table.rows.back()[0], "9");
  EXPECT_NE(table.note.find("steps 4–9"), std::string::npos);
}

TEST_F(RangeViewsTest, TheHeadGridShowsMeansOfTheRangeAndSaysSo) {
  HeadGrid view;
  canvas.frame.selection.steps = StepRange{4, 9};
  canvas.draw(view);
  const auto value = [](const HeadRecord& h, int seen) { return head_metric(h, HeadMetric::local_l1_wo, seen); };
  for (const int head : {0, 13, 23}) {
    const std::string name = "L" + std::to_string(head / 4) + " H" + std::to_string(head % 4);
    const double mean = head_statistics(snapshot.lanes[3], {4, 9}, head, value).mean();
    EXPECT_EQ(testing::find_mark(view, "cell", name)->value, format_metric(HeadMetric::local_l1_wo, mean));
    EXPECT_EQ(view.table(canvas.frame).rows[static_cast<std::size_t>(head)][2], format_number(mean, 6)) << "the table is the picture";
  }
  EXPECT_NE(view.table(canvas.frame).note.find("steps 4–9"), std::string::npos);
  canvas.frame.selection.steps.reset();
  canvas.draw(view);
  EXPECT_EQ(testing::find_mark(view, "cell", "L0 H0")->value,
            format_metric(HeadMetric::local_l1_wo, snapshot.lanes[3].steps.back()->heads[0].local_l1_wo));
}

TEST_F(RangeViewsTest, TheComparisonNamesTheRange) {
  Compare view(std::make_shared<TokenWindow>());
  canvas.frame.selection.steps = StepRange{4, 9};
  const Table table = view.table(canvas.frame);
  EXPECT_NE(std::find(table.columns.begin(), table.columns.end(), "mean KL, nats (steps 4–9)"), table.columns.end());
  EXPECT_NE(std::find(table.columns.begin(), table.columns.end(), "top-1 same (of 6)"), table.columns.end());
  EXPECT_NE(std::find(table.columns.begin(), table.columns.end(), "attention lost, share (range mean)"), table.columns.end());
}

TEST_F(RangeViewsTest, MarkedStepsStandOnTheTimeline) {
  Timeline view;
  const std::vector<StepMark> marks = {{3, 0, "first loss"}, {900, 1, "of another run"}};
  canvas.frame.step_marks = marks;
  canvas.draw(view);
  ASSERT_NE(testing::find_mark(view, "bookmark", "first loss"), nullptr);
  EXPECT_EQ(testing::find_mark(view, "bookmark", "of another run"), nullptr);
}

}  // namespace
}  // namespace kvscope::viz
