// SPDX-License-Identifier: Apache-2.0
// Runs beside the others, where the process that computes them is killed: the line starts another one by itself.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <QApplication>
#include <QTemporaryDir>
#include <QTest>

#include "app/window/session/causal_heads.h"
#include "app/window/session/run_queue.h"
#include "app/window/session/session_controller.h"
#include "app/window/session/workspace.h"
#include "paths.h"
#include "policy/catalog.h"
#include "window/support/patience.h"

namespace kvscope {
namespace {

namespace fs = std::filesystem;
using Purpose = QueuedRun::Purpose;
using RunState = QueuedRun::State;

class KilledEngineTest : public ::testing::Test {
 protected:
  void SetUp() override {
    // A kvscope-cli that says under which number it runs; from the second on it takes its time, so that the end of the first is seen.
    const fs::path program = fs::path(folder.path().toStdString()) / "engine";
    numbers = program.string() + ".numbers";
    std::ofstream(program) << "#!/bin/sh\n[ -e '" << numbers << "' ] && sleep 0.4\necho $$ >> '" << numbers << "'\nexec '" << KVSCOPE_CLI
                           << "' \"$@\"\n";
    fs::permissions(program, fs::perms::owner_all);
    controller.setEngine("exec:" + QString::fromStdString(program.string()));
    controller.replaceRequest([] {
      RunRequest request;
      request.prompt = "The house number of Helen is 482. What is the house number of Helen? The house number of Helen is";
      request.lanes = parse_lane_specs({"full", "keepkv:ratio=0.1"});
      request.n_generate = 4;
      return request;
    }());
    controller.loadModel(QString::fromStdString(in_checkout("assets/models/kvmini")));
    ASSERT_TRUE(waitIdle());
  }
  bool waitIdle() {
    return waitFor(
        [this] {
          const Snapshot& s = workspace.snapshot();
          return !workspace.stale() && s.phase == RunPhase::idle && controller.answersNewest(s) && !queue.busy();
        },
        60000);
  }
  /// Of all that were started, in order.
  std::vector<int> processes() const {
    std::ifstream file(numbers);
    std::vector<int> out;
    for (int n = 0; file >> n;) out.push_back(n);
    return out;
  }
  int nWith(RunState state) const { return static_cast<int>(std::ranges::count(queue.runs(), state, &QueuedRun::state)); }

  QTemporaryDir folder;
  std::string numbers;
  Workspace workspace;
  SessionController controller{workspace};
  RunQueue queue{controller, workspace};
  CausalHeads heads{workspace, controller, queue};
};

TEST_F(KilledEngineTest, TheHeadThatWasLostIsMeasuredWhenItIsAskedForAgain) {
  workspace.setSelection({.lane = 1});
  bool killed = false;
  QObject::connect(&queue, &RunQueue::changed, &queue, [&] {
    if (killed || nWith(RunState::done) < 4 || queue.running() == nullptr || !controller.hasExtra()) return;
    killed = ::kill(processes().back(), SIGKILL) == 0;
  });
  heads.want(true);
  heads.ask();
  ASSERT_TRUE(waitIdle());
  ASSERT_TRUE(killed);
  EXPECT_EQ(processes().size(), 2u);
  ASSERT_EQ(nWith(RunState::failed), 1);
  const viz::HeadCauses before = workspace.causes();
  ASSERT_EQ(before.n_measured, 23);
  heads.ask();
  EXPECT_TRUE(workspace.causes().running);
  EXPECT_EQ(workspace.causes().n_measured, 23) << "what is known stays";
  EXPECT_GT(workspace.causes().ms_left, 0);
  ASSERT_TRUE(waitIdle());
  EXPECT_EQ(workspace.causes().n_measured, 24);
  EXPECT_EQ(queue.runs().size(), 25u) << "no other head is measured twice";
  for (std::size_t h = 0; h < before.kl.size(); ++h) EXPECT_TRUE(std::isnan(before.kl[h]) || workspace.causes().kl[h] == before.kl[h]) << h;
  heads.ask();
  EXPECT_FALSE(queue.busy()) << "all is known";
}

/// A window that is busy meanwhile sees only the newest of what the line says: that the next engine opens the model, not that the one
/// before has ended.
TEST_F(KilledEngineTest, TheQueueGoesOnWhereNobodySawTheEngineEnd) {
  RunRequest request = controller.request();
  request.n_generate = 400;
  controller.replaceRequest(request);
  ASSERT_TRUE(waitIdle());
  double progress = 0;
  QObject::connect(&controller, &SessionController::extraProgress, &controller, [&](double fraction) { progress = fraction; });
  queue.add({"h2o:slots=8", "h2o:slots=9"}, Purpose::point);
  ASSERT_TRUE(waitFor([&] { return progress > 0.3; }, 30000)) << "a part of the run was shown";
  ASSERT_EQ(queue.runs()[0].state, RunState::running);
  const auto pause = [] { std::this_thread::sleep_for(std::chrono::milliseconds(1)); };  // in which no event is taken
  ASSERT_EQ(::kill(processes().back(), SIGKILL), 0);
  while (processes().size() < 2) pause();
  const double bytes = controller.engineLink().bytes;  // all of the first engine's
  while (controller.engineLink().bytes <= bytes) pause();
  const int next = processes().back();
  ASSERT_EQ(::kill(next, SIGSTOP), 0);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  QApplication::processEvents();
  EXPECT_TRUE(controller.hasExtra()) << "the line asks for it again by itself";
  ASSERT_EQ(::kill(next, SIGCONT), 0);
  ASSERT_TRUE(waitIdle());
  EXPECT_EQ(nWith(RunState::done), 2);
}

}  // namespace
}  // namespace kvscope
