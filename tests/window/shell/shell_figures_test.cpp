// SPDX-License-Identifier: Apache-2.0
// View > Figures: figures of papers, of the prompt and the runs at hand; one that needs a measure asks for it.
#include <QAction>
#include <QDockWidget>

#include "app/window/canvas/canvas_widget.h"
#include "viz/reduce/papers/paper_figure.h"
#include "window/support/patience.h"
#include "window/support/window_fixture.h"

namespace kvscope {
namespace {

class FiguresTest : public WindowTest {
 protected:
  void SetUp() override {
    options.lanes = {"keepkv:ratio=0.1"};
    WindowTest::SetUp();
    window->controller().generate(12);
    ASSERT_TRUE(settle());
    window->findChild<QDockWidget*>("dock_figures")->toggleViewAction()->trigger();
    ASSERT_TRUE(settle());
  }
  long bars() {
    return std::ranges::count_if(window->canvas("figures")->view().marks(), [](const viz::Mark& m) { return m.kind == "bar"; });
  }
  void choose(const std::string& name) {
    CanvasWidget* canvas = window->canvas("figures");
    const std::vector<std::string> choices = canvas->view().options().front().choices;
    const auto place = std::ranges::find(choices, name);
    ASSERT_NE(place, choices.end());
    canvas->view().choose(0, static_cast<int>(place - choices.begin()));
    canvas->invalidate();
    ASSERT_TRUE(settle());
  }
};

TEST_F(FiguresTest, AreDrawnOfTheRunsAtHand) {
  ASSERT_TRUE(window->findChild<QDockWidget*>("dock_figures")->isVisible());
  for (const char* name : {"highest tenth", "slow attention", "comes back", "hit rate"}) {
    choose(name);
    EXPECT_EQ(bars(), 24) << name;
  }
  choose("sparse attention");
  EXPECT_EQ(bars(), 6) << "a layer each";
}

TEST_F(FiguresTest, OneThatNeedsAMeasureAsksForIt) {
  EXPECT_FALSE(snapshot().measures.prediction) << "nobody pays for what is not looked at";
  choose("prediction error");
  ASSERT_TRUE(waitFor([this] { return snapshot().measures.prediction && bars() > 0; }, 10000));
  EXPECT_EQ(bars(), 24);
}

}  // namespace
}  // namespace kvscope
