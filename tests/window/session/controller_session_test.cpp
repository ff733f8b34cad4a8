// SPDX-License-Identifier: Apache-2.0
#include "app/window/session/session_controller.h"

#include <gtest/gtest.h>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>

#include "app/window/session/workspace.h"
#include "paths.h"
#include "policy/catalog.h"
#include "window/support/patience.h"

namespace kvscope {
namespace {

const QString kModel = QString::fromStdString(in_checkout("assets/models/kvmini"));

class ControllerTest : public ::testing::Test {
 protected:
  bool idle() const { return !workspace.stale() && workspace.snapshot().phase == RunPhase::idle; }
  bool waitIdle() {
    return waitFor([this] { return idle(); }, 60000);
  }
  void start(const char* prompt = "The house number of Helen is 482.") {
    RunRequest request;
    request.prompt = prompt;
    request.lanes = parse_lane_specs({"full", "streaming:slots=8,sinks=2"});
    request.n_generate = 2;
    controller.replaceRequest(request);
    controller.loadModel(kModel);
    ASSERT_TRUE(waitIdle());
  }
  Workspace workspace;
  SessionController controller{workspace};
};

TEST_F(ControllerTest, ARequestBecomesASnapshotOfTheSameText) {
  start();
  const Snapshot& s = workspace.snapshot();
  EXPECT_EQ(s.prompt, "The house number of Helen is 482.");
  ASSERT_EQ(s.lanes.size(), 2u);
  EXPECT_EQ(s.lanes[1].slots_asked, 8);
  EXPECT_EQ(s.lanes[0].steps.size(), 3u) << "the prompt and two tokens";
}

TEST_F(ControllerTest, PutsTheReferenceFirst) {
  RunRequest request;
  request.lanes = parse_lane_specs({"streaming:slots=8"});
  controller.replaceRequest(request);
  ASSERT_EQ(controller.laneSpecs().size(), 2);
  EXPECT_EQ(controller.laneSpecs()[0].toStdString(), policies().front().name);
}

TEST_F(ControllerTest, IsStaleFromTheEditUntilItsAnswer) {
  start();
  QSignalSpy stale(&workspace, &Workspace::staleChanged);
  controller.generate(5);
  EXPECT_TRUE(workspace.stale());
  ASSERT_TRUE(waitIdle());
  EXPECT_EQ(workspace.snapshot().lanes[0].steps.size(), 6u);
}

TEST_F(ControllerTest, TypingWaitsForAPauseAndOnlyTheLastTextIsAnswered) {
  start();
  QSignalSpy published(&workspace, &Workspace::snapshotChanged);
  QString text = "The";
  std::vector<std::string> shown;
  QObject::connect(&workspace, &Workspace::snapshotChanged, &workspace, [&] { shown.push_back(workspace.snapshot().prompt); });
  for (int i = 0; i < 300; ++i) {
    text += i % 5 ? QChar('a' + i % 26) : QChar(' ');
    controller.setPrompt(text);
    if (i % 10 == 0) QTest::qWait(1);
  }
  ASSERT_TRUE(waitFor([&] { return idle() && workspace.snapshot().prompt == text.toStdString(); }, 60000));
  const std::string final_text = text.toStdString();
  for (const std::string& prompt : shown)
    EXPECT_EQ(final_text.rfind(prompt, 0) == 0 || prompt == "The house number of Helen is 482.", true) << prompt;
  EXPECT_LT(published.count(), 300) << "not every letter is computed";
}

TEST_F(ControllerTest, NeverShowsAnOlderGenerationAfterANewerOne) {
  start();
  std::vector<std::uint64_t> generations;
  QObject::connect(&workspace, &Workspace::snapshotChanged, &workspace, [&] { generations.push_back(workspace.snapshot().generation); });
  for (int slots_asked = 4; slots_asked < 40; ++slots_asked) {
    controller.setLaneSpec(1, QString("streaming:slots=%1,sinks=2").arg(slots_asked));
    QTest::qWait(2);
  }
  ASSERT_TRUE(waitIdle());
  EXPECT_TRUE(std::is_sorted(generations.begin(), generations.end()));
  EXPECT_EQ(workspace.snapshot().lanes[1].slots_asked, 39);
}

TEST_F(ControllerTest, RefusesAnUnknownPolicyAndChangesNothing) {
  start();
  QSignalSpy refused(&controller, &SessionController::refused);
  const QStringList before = controller.laneSpecs();
  controller.setLaneSpec(1, "no-such-policy:slots=8");
  controller.addLane("streaming:no_such_key=1");
  EXPECT_EQ(refused.count(), 2);
  EXPECT_TRUE(refused[0][0].toString().contains("no-such-policy"));
  EXPECT_EQ(controller.laneSpecs(), before);
}

TEST_F(ControllerTest, TheReferenceCanNeitherBeEditedNorRemoved) {
  start();
  controller.setLaneSpec(0, "streaming:slots=8");
  controller.removeLane(0);
  controller.removeLane(17);
  EXPECT_EQ(controller.laneSpecs().size(), 2);
  EXPECT_EQ(controller.laneSpecs()[0].toStdString(), policies().front().name);
}

TEST_F(ControllerTest, AFolderThatIsNoModelLeavesTheLastResultAndSaysWhatIsMissing) {
  start();
  QTemporaryDir empty;
  controller.loadModel(empty.path());
  ASSERT_TRUE(waitFor([this] { return workspace.snapshot().phase == RunPhase::failed; }, 30000));
  EXPECT_NE(workspace.snapshot().failure.find("config.json"), std::string::npos) << workspace.snapshot().failure;
  EXPECT_EQ(workspace.snapshot().lanes.size(), 2u);
  EXPECT_EQ(controller.request().prompt, "The house number of Helen is 482.");
}

TEST_F(ControllerTest, AModelThatCannotBeOpenedIsOnlyAFailureAndAGoodOneWorksAfterwards) {
  controller.loadModel("/no/such/folder");
  ASSERT_TRUE(waitFor([this] { return workspace.snapshot().phase == RunPhase::failed; }, 30000));
  EXPECT_FALSE(workspace.snapshot().failure.empty());
  start();
  EXPECT_TRUE(workspace.snapshot().failure.empty());
}

TEST_F(ControllerTest, ATextThatIsTooLongForTheModelIsSaidAndTheTextIsKept) {
  start();
  QString words;
  for (int i = 0; i < 3000; ++i) words += "word ";
  controller.setPrompt(words);
  ASSERT_TRUE(waitFor(
      [&] {
        const Snapshot& s = workspace.snapshot();
        return s.phase == RunPhase::failed || (idle() && !s.notice.empty());
      },
      60000));
  EXPECT_EQ(controller.request().prompt, words.toStdString());
  controller.setPrompt("short again");
  ASSERT_TRUE(waitFor([&] { return idle() && workspace.snapshot().prompt == "short again"; }, 60000));
}

TEST_F(ControllerTest, StopEndsALongRunAndKeepsWhatWasFinished) {
  start();
  controller.generate(700);
  QTest::qWait(150);
  controller.stop();
  ASSERT_TRUE(waitIdle());
  EXPECT_LT(workspace.snapshot().lanes[0].steps.size(), 700u);
  EXPECT_GE(workspace.snapshot().lanes[0].steps.size(), 3u);
}

TEST_F(ControllerTest, LeavesWhileComputing) {
  auto own = std::make_unique<Workspace>();
  auto other = std::make_unique<SessionController>(*own);
  RunRequest request;
  request.prompt = "once upon a time";
  request.n_generate = 900;
  other->replaceRequest(request);
  other->loadModel(kModel);
  ASSERT_TRUE(waitFor([&] { return own->snapshot().phase == RunPhase::computing && !own->snapshot().lanes.empty(); }, 60000));
  other.reset();  // joins the engine's thread; wake-ups that are under way go nowhere
  const Snapshot* const last = &own->snapshot();
  const std::size_t n_steps = last->lanes[0].steps.size();
  EXPECT_LT(n_steps, 901u) << "it had come to its end before";
  QTest::qWait(50);
  EXPECT_EQ(&own->snapshot(), last);
  EXPECT_EQ(own->snapshot().lanes[0].steps.size(), n_steps);
}

}  // namespace
}  // namespace kvscope
