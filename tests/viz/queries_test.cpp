// SPDX-License-Identifier: Apache-2.0
// The queries of a prompt: numbers, marks and words of one head, and what stands there without them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "viz/draw/format.h"
#include "viz/headless.h"
#include "viz/query_fixture.h"
#include "viz/reduce/queries.h"
#include "viz/synthetic.h"
#include "viz/the_mark.h"
#include "viz/views.h"

namespace kvscope::viz {
namespace {

using namespace testing;
using ::testing::HasSubstr;

class QueriesTest : public ::testing::Test {
 protected:
  QueriesTest() {
    canvas.frame.selection.lane = 1;
    canvas.frame.selection.layer = 0;
    canvas.frame.selection.kv_head = 1;
  }
  const Mark& mark(std::string_view kind, std::string_view label) { return the_mark(*view, kind, label); }

  Snapshot snapshot = synthetic::make_snapshot();
  std::unique_ptr<View> view = make_queries();
  Headless canvas{snapshot, {828, 230}};
};

TEST_F(QueriesTest, AreAskedForAndWaitedFor) {
  canvas.draw(*view);
  ASSERT_NE(canvas.last<WantMeasure>(), nullptr);
  EXPECT_TRUE(canvas.last<WantMeasure>()->on && canvas.last<WantMeasure>()->what == WantMeasure::What::queries);
  EXPECT_EQ(count_marks(*view, "frequency"), 0);
  EXPECT_THAT(view->table(canvas.frame).note, HasSubstr("not measured yet"));
  snapshot.prefill_mode = snapshot.measures.queries = true;
  snapshot.phase = RunPhase::computing;
  canvas.draw(*view);
  EXPECT_THAT(view->cursor_text(canvas.frame), HasSubstr("once the text is read"));
  snapshot.phase = RunPhase::idle;  // the reading was stopped
  canvas.draw(*view);
  EXPECT_THAT(view->cursor_text(canvas.frame), HasSubstr("was not read for them"));
  snapshot.phase = RunPhase::computing;
  snapshot.lanes[0].warnings.push_back({.kind = LaneWarning::Kind::figures_only, .count = 3});
  canvas.draw(*view);
  EXPECT_THAT(view->cursor_text(canvas.frame), HasSubstr("only figures")) << "they do not come back";
  snapshot.lanes[0].warnings.clear();
  snapshot.phase = RunPhase::idle;
  canvas.intents.clear();
  add_clouds(snapshot);
  canvas.draw(*view);
  EXPECT_EQ(canvas.last<WantMeasure>(), nullptr);
  EXPECT_GT(count_marks(*view, "frequency"), 0);
  snapshot.prefill_mode = false;
  canvas.draw(*view);
  EXPECT_EQ(canvas.last<WantMeasure>(), nullptr) << "a streamed prompt has none to give";
  EXPECT_THAT(view->cursor_text(canvas.frame), HasSubstr("token by token"));
}

TEST_F(QueriesTest, EveryMarkHasTheNumberOfTheCloudOfTheSelectedHead) {
  add_clouds(snapshot);
  canvas.draw(*view);
  const int group = snapshot.model.group();
  EXPECT_EQ(count_marks(*view, "frequency"), 8 * group);
  const double mean = std::hypot(2, 3), typical = std::hypot(mean, 1);
  EXPECT_EQ(mark("frequency", "L0 H1 f3 q0").value, format_number(mean) + " of " + format_number(typical));
  EXPECT_EQ(mark("expected.score", "L0 H1 2").value, format_number(0));
  EXPECT_EQ(mark("measured.score", "L0 H1 1").value, format_number(2.25));
  EXPECT_EQ(find_mark(*view, "measured.score", "L0 H1 4–5"), nullptr) << "nothing lies so far apart: no zero";
  EXPECT_EQ(mark("share", "L0 H1 1").value, "70.0 %");
  EXPECT_EQ(mark("share", "L0 H1 8 and more").value, "5.0 %");
  EXPECT_LT(mark("expected.score", "L0 H1 0").min.y, mark("expected.score", "L0 H1 3").min.y) << "higher is more";
  EXPECT_LT(mark("frequency", "L0 H1 f0 q0").max.x, mark("frequency", "L0 H1 f1 q0").max.x);
  EXPECT_EQ(view->facts(canvas.frame), "L0 · H1 · expected score highest 0 tokens away, measured 1 · attention most 1, 70.0 %");
}

TEST_F(QueriesTest, TheTableHasEveryNumber) {
  add_clouds(snapshot);
  const Table table = view->table(canvas.frame);
  const std::size_t frequencies = 8u * static_cast<std::size_t>(snapshot.model.group());
  ASSERT_EQ(table.rows.size(), frequencies + 7);
  EXPECT_EQ(table.rows[3], (std::vector<std::string>{"3", table.rows[3][1], "0", "2", "3", "1", "", "", "", ""}));
  EXPECT_NEAR(std::stod(table.rows[3][1]), 2 * 3.14159265 * std::pow(10, 1.5), 1e-3) << "tokens once around";
  EXPECT_EQ(table.rows[frequencies + 4][8], "n/a");
  EXPECT_EQ(table.rows[frequencies + 1][7], "0.5");
}

TEST_F(QueriesTest, TheMouseAndTheKeysReadColumnsAndHeads) {
  add_clouds(snapshot);
  canvas.draw(*view);
  canvas.move(*view, centre(mark("share", "L0 H1 1")));
  ASSERT_NE(canvas.last<HoverAt>(), nullptr);
  EXPECT_THAT(canvas.last<HoverAt>()->tooltip, ::testing::Contains("share of the attention 70.0 %"));
  EXPECT_THAT(view->cursor_text(canvas.frame), HasSubstr("frequency 0"));
  view->key(canvas.frame, "End", canvas.intents);
  EXPECT_THAT(view->cursor_text(canvas.frame), HasSubstr("8 and more tokens away"));
  view->key(canvas.frame, "Left", canvas.intents);
  EXPECT_THAT(view->cursor_text(canvas.frame), HasSubstr("6–7 tokens away"));
  view->key(canvas.frame, "Down", canvas.intents);
  ASSERT_NE(canvas.last<Select>(), nullptr);
  EXPECT_EQ(canvas.last<Select>()->selection.kv_head, 2);
}

TEST_F(QueriesTest, ALowOrNarrowCanvasKeepsWhatHasRoom) {
  add_clouds(snapshot);
  canvas.frame.size = {828, 110};
  canvas.draw(*view);
  EXPECT_GT(count_marks(*view, "expected.score"), 0);
  EXPECT_EQ(count_marks(*view, "share"), 0);
  canvas.frame.size = {400, 200};
  canvas.draw(*view);
  EXPECT_EQ(count_marks(*view, "frequency"), 0);
  EXPECT_GT(count_marks(*view, "measured.score"), 0);
  canvas.frame.size = {400, 600};
  canvas.draw(*view);
  EXPECT_GT(count_marks(*view, "frequency"), 0);
}

TEST_F(QueriesTest, ALayerThatPositionsDoNotTurnSaysSo) {
  add_clouds(snapshot);
  auto step = std::make_shared<StepRecord>(*snapshot.lanes[0].steps[0]);
  for (QueryCloud& cloud : step->clouds) cloud.turn = cloud.re = cloud.im = cloud.spread = {};
  snapshot.lanes[0].steps[0] = step;
  canvas.draw(*view);
  EXPECT_EQ(count_marks(*view, "frequency"), 0);
  EXPECT_EQ(count_marks(*view, "empty"), 1);
  EXPECT_GT(count_marks(*view, "expected.score"), 0);
}

}  // namespace
}  // namespace kvscope::viz
