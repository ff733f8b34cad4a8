// SPDX-License-Identifier: Apache-2.0
#include "app/window/rows/playback.h"

#include <gtest/gtest.h>
#include <QComboBox>
#include <QElapsedTimer>
#include <QPushButton>
#include <QSignalSpy>
#include <QTest>

#include "app/window/rows/transport.h"
#include "app/window/session/workspace.h"
#include "viz/synthetic.h"
#include "window/support/patience.h"
#include "window/support/window_fixture.h"

namespace kvscope {
namespace {

class PlaybackTest : public ::testing::Test {
 protected:
  PlaybackTest() {
    run.phase = RunPhase::idle;
    workspace.setSnapshot(std::make_shared<const Snapshot>(run));
  }
  int last() const { return static_cast<int>(run.lanes[0].steps.size()) - 1; }

  Snapshot run = synthetic::make_snapshot();
  Workspace workspace;
  Playback playback{workspace};
};

TEST_F(PlaybackTest, StaysWithinTheSteps) {
  playback.stepBy(-3);
  EXPECT_EQ(workspace.step(), last() - 3);
  playback.stepBy(-100000);
  EXPECT_EQ(workspace.step(), 0);
  playback.stepBy(100000);
  EXPECT_EQ(workspace.step(), last());
  EXPECT_FALSE(workspace.selection().step) << "the latest step is followed, not held";
}

TEST_F(PlaybackTest, TheClockSaysNowOrWhichStepOfHowMany) {
  EXPECT_EQ(playback.clock(), "now");
  playback.goTo(3);
  EXPECT_EQ(playback.clock(), QString("step 3 of %1").arg(last()));
  Workspace empty;
  EXPECT_EQ(Playback(empty).clock(), "");
}

TEST_F(PlaybackTest, PlaysAtItsSpeedFromTheFirstStepAndStopsAtTheLatest) {
  playback.setSpeed(5);
  EXPECT_EQ(Playback::speedName(playback.speed()), "8");
  QSignalSpy stopped(&playback, &Playback::playingChanged);
  QElapsedTimer time;
  time.start();
  playback.play(true);
  EXPECT_EQ(workspace.step(), 0);
  ASSERT_TRUE(waitFor([&] { return !playback.playing(); }, 60000));
  EXPECT_TRUE(workspace.atLatestStep());
  EXPECT_GE(time.elapsed(), 125 * last() - 60) << "no faster than eight steps a second";
  EXPECT_EQ(stopped.count(), 2);
}

TEST_F(PlaybackTest, WaitsAtTheLatestStepWhileMoreIsGenerated) {
  playback.setSpeed(5);
  playback.goTo(last() - 1);
  Snapshot computing = run;
  computing.phase = RunPhase::computing;
  workspace.setSnapshot(std::make_shared<const Snapshot>(computing));
  playback.play(true);
  QTest::qWait(500);
  EXPECT_TRUE(workspace.atLatestStep());
  EXPECT_TRUE(playback.playing());
  workspace.setSnapshot(std::make_shared<const Snapshot>(run));
  ASSERT_TRUE(waitFor([&] { return !playback.playing(); }, 5000));
}

TEST_F(PlaybackTest, AStepThatIsHeldStaysWhileMoreIsGenerated) {
  playback.goTo(2);
  Snapshot longer = run;
  for (LaneSnapshot& lane : longer.lanes) {
    auto record = std::make_shared<StepRecord>(*lane.steps.back());
    record->step += 1;
    lane.steps.push_back(record);
  }
  workspace.setSnapshot(std::make_shared<const Snapshot>(longer));
  EXPECT_EQ(workspace.step(), 2);
  EXPECT_EQ(playback.clock(), QString("step 2 of %1").arg(last() + 1));
}

TEST_F(WindowTest, BareKeysMoveThroughTheStepsByOneAndByTen) {
  window->setFocus();
  press(Qt::Key_Home);
  EXPECT_EQ(window->workspace().step(), 0);
  press(Qt::Key_Right);
  EXPECT_EQ(window->workspace().step(), 1);
  press(Qt::Key_Right, Qt::ShiftModifier);
  EXPECT_TRUE(window->workspace().atLatestStep());
  press(Qt::Key_Left, Qt::ShiftModifier);
  EXPECT_EQ(window->workspace().step(), 0);
  press(Qt::Key_End);
  EXPECT_TRUE(window->workspace().atLatestStep());
}

TEST_F(WindowTest, TheTransportShowsAndSetsTheSpeedAndLeadsToTheLatestStep) {
  auto* transport = window->panel("timeline")->header()->findChild<Transport*>();
  ASSERT_NE(transport, nullptr);
  press(Qt::Key_End);
  EXPECT_EQ(transport->clock()->text(), "now");
  const int before = window->model().playback.speed();
  press(Qt::Key_Up, Qt::ControlModifier);
  EXPECT_EQ(window->model().playback.speed(), before + 1);
  EXPECT_EQ(transport->speedBox()->currentText(), "4 /s");
  press(Qt::Key_Left, Qt::ControlModifier);
  EXPECT_EQ(transport->clock()->text(), "step 3 of 4");
  QTest::mouseClick(transport->clock(), Qt::LeftButton);
  EXPECT_TRUE(window->workspace().atLatestStep());
  EXPECT_EQ(transport->clock()->text(), "now");
}

TEST_F(WindowTest, SpacePlaysAndPauses) {
  window->setFocus();
  press(Qt::Key_End);
  press(Qt::Key_Space);
  EXPECT_TRUE(window->model().playback.playing());
  press(Qt::Key_Space);
  EXPECT_FALSE(window->model().playback.playing());
  EXPECT_EQ(window->workspace().step(), 0);
}

}  // namespace
}  // namespace kvscope
