// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <thread>

#include <gtest/gtest.h>
#include <QApplication>
#include <QFile>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>

#include "app/window/session/run_queue.h"
#include "app/window/session/session_controller.h"
#include "app/window/session/workspace.h"
#include "core/most_runs.h"
#include "paths.h"
#include "policy/catalog.h"
#include "window/support/patience.h"

namespace kvscope {
namespace {

using Purpose = QueuedRun::Purpose;
using RunState = QueuedRun::State;

class RunQueueTest : public ::testing::Test {
 protected:
  void SetUp() override {
    RunRequest request;
    request.prompt = "The house number of Helen is 482.";
    request.lanes = parse_lane_specs({"full", "streaming:slots=8,sinks=2"});
    request.n_generate = 4;
    controller.replaceRequest(request);
    controller.loadModel(QString::fromStdString(in_checkout("assets/models/kvmini")));
    ASSERT_TRUE(waitFor([this] { return idle(); }, 60000));
  }
  bool idle() const {
    const Snapshot& s = workspace.snapshot();
    return !workspace.stale() && s.phase == RunPhase::idle && controller.answersNewest(s) && !queue.busy();
  }
  bool waitIdle() {
    return waitFor([this] { return idle(); }, 60000);
  }
  std::vector<std::string> specs() const {
    std::vector<std::string> out;
    for (const LaneSnapshot& lane : workspace.snapshot().lanes) out.push_back(lane.spec);
    return out;
  }
  Workspace workspace;
  SessionController controller{workspace};
  RunQueue queue{controller, workspace};
};

TEST_F(RunQueueTest, RunsJoinOneAfterTheOtherAndNothingOnScreenGoesStale) {
  std::vector<std::size_t> lanes;
  bool stale = false;
  QObject::connect(&workspace, &Workspace::snapshotChanged, &workspace, [&] { lanes.push_back(workspace.snapshot().lanes.size()); });
  QObject::connect(&workspace, &Workspace::staleChanged, &workspace, [&] { stale = true; });
  queue.add({"h2o:slots=8", "knorm:slots=8", "h2o:slots=12"}, Purpose::lane);
  EXPECT_EQ(workspace.waitingRuns().size(), 3u);
  ASSERT_TRUE(waitIdle());
  EXPECT_EQ(specs(), (std::vector<std::string>{"full", "streaming:slots=8,sinks=2", "h2o:slots=8", "knorm:slots=8", "h2o:slots=12"}));
  EXPECT_EQ(lanes, (std::vector<std::size_t>{3, 4, 5})) << "each as it is ready";
  EXPECT_FALSE(stale);
  EXPECT_TRUE(workspace.waitingRuns().empty());
  EXPECT_EQ(controller.request().lanes, parse_lane_specs(specs()));
  for (const QueuedRun& run : queue.runs()) {
    EXPECT_EQ(run.state, RunState::done);
    EXPECT_GT(run.ms, 0);
  }
}

TEST_F(RunQueueTest, AQueuedRunHasTheNumbersOfARunOfTheRequest) {
  queue.add({"h2o:slots=8"}, Purpose::lane);
  ASSERT_TRUE(waitIdle());
  const LaneSnapshot queued = workspace.snapshot().lanes[2];
  controller.removeLane(2);
  ASSERT_TRUE(waitIdle());
  controller.addLane("h2o:slots=8");
  ASSERT_TRUE(waitIdle());
  const LaneSnapshot direct = workspace.snapshot().lanes[2];
  ASSERT_EQ(queued.steps.size(), direct.steps.size());
  for (std::size_t s = 0; s < direct.steps.size(); ++s) {
    EXPECT_EQ(queued.steps[s]->kl, direct.steps[s]->kl);
    EXPECT_EQ(queued.steps[s]->heads[5].pos, direct.steps[s]->heads[5].pos);
  }
}

TEST_F(RunQueueTest, APointIsMeasuredAndLeavesNoTrace) {
  QSignalSpy shown(&workspace, &Workspace::snapshotChanged);
  std::vector<std::string> measured;
  QObject::connect(&queue, &RunQueue::measured, &queue, [&](const QueuedRun& run, const SnapshotPtr& result) {
    measured.push_back(run.spec);
    EXPECT_EQ(result->lanes.back().spec, run.spec);
    EXPECT_EQ(result->lanes.back().steps.size(), result->lanes.front().steps.size());
  });
  queue.add({"h2o:slots=8", "h2o:slots=9"}, Purpose::point);
  EXPECT_TRUE(workspace.waitingRuns().empty()) << "no row in the comparison";
  ASSERT_TRUE(waitIdle());
  EXPECT_EQ(measured, (std::vector<std::string>{"h2o:slots=8", "h2o:slots=9"}));
  EXPECT_EQ(shown.count(), 0);
  EXPECT_EQ(specs().size(), 2u);
}

TEST_F(RunQueueTest, APointIsNoRunWhereAnotherModelRefusesTheText) {
  queue.add({"h2o:slots=8"}, Purpose::point);
  ASSERT_TRUE(waitIdle());
  QTemporaryDir folder;
  for (const char* file : {"config.json", "model.safetensors"})
    ASSERT_TRUE(QFile::copy(QString::fromStdString(in_checkout(std::string("assets/models/kvmini/") + file)), folder.filePath(file)));
  controller.loadModel(folder.path());
  ASSERT_TRUE(waitFor([this] { return SessionController::readsNoText(workspace.snapshot()); }, 60000));
  EXPECT_EQ(specs(), (std::vector<std::string>{"full", "streaming:slots=8,sinks=2"}));
}

TEST_F(RunQueueTest, OneCanBeCancelledWhetherItRunsOrWaits) {
  queue.add({"h2o:slots=8", "h2o:slots=9", "h2o:slots=10"}, Purpose::lane);
  ASSERT_NE(queue.running(), nullptr);
  queue.cancel(queue.runs()[1].id);
  queue.cancel(queue.running()->id);
  ASSERT_TRUE(waitIdle());
  EXPECT_EQ(specs(), (std::vector<std::string>{"full", "streaming:slots=8,sinks=2", "h2o:slots=10"}));
  EXPECT_EQ(queue.runs()[0].state, RunState::cancelled);
  EXPECT_EQ(queue.runs()[1].state, RunState::cancelled);
  queue.clearEnded();
  EXPECT_TRUE(queue.runs().empty());
}

TEST_F(RunQueueTest, BesideARunThatWasStoppedItGoesAsFarAsThatOne) {
  controller.generate(400);
  ASSERT_TRUE(waitFor([this] { return workspace.snapshot().lanes[0].steps.size() > 8; }, 30000));
  controller.stop();
  ASSERT_TRUE(waitIdle());
  const std::size_t n = workspace.snapshot().lanes[0].steps.size();
  ASSERT_LT(n, 401u);
  std::size_t measured = 0;
  QObject::connect(&queue, &RunQueue::measured, &queue,
                   [&](const QueuedRun&, const SnapshotPtr& result) { measured = result->lanes.back().steps.size(); });
  queue.add({"h2o:slots=8"}, Purpose::point);
  ASSERT_TRUE(waitIdle());
  EXPECT_EQ(measured, n);
  EXPECT_EQ(controller.request().n_generate, 400) << "what was asked for goes on when it is asked for again";
}

TEST_F(RunQueueTest, WhatWasAskedForTogetherCanBeCancelledTogether) {
  queue.add({"h2o:slots=8", "h2o:slots=12", "h2o:slots=16"}, Purpose::point);
  queue.add({"knorm:slots=8"}, Purpose::lane);
  ASSERT_TRUE(waitFor([this] { return queue.running() != nullptr; }, 10000));
  queue.cancelBatch(queue.running()->batch);
  ASSERT_TRUE(waitIdle());
  std::vector<RunState> states;
  for (const QueuedRun& run : queue.runs()) states.push_back(run.state);
  EXPECT_EQ(states, (std::vector<RunState>{RunState::cancelled, RunState::cancelled, RunState::cancelled, RunState::done}));
}

TEST_F(RunQueueTest, TheProgressOfACancelledRunIsNotThatOfTheRunsOnScreen) {
  RunRequest request = controller.request();
  request.mode = PromptMode::prefill;
  while (request.prompt.size() < 1000) request.prompt += " The house number of Helen is 482.";
  controller.replaceRequest(request);
  ASSERT_TRUE(waitIdle());
  bool idle_all_along = true;
  QObject::connect(&workspace, &Workspace::snapshotChanged, &workspace,
                   [&] { idle_all_along = idle_all_along && workspace.snapshot().phase == RunPhase::idle; });
  for (int turn = 0; turn < 20; ++turn) {
    queue.add({"keepkv:slots=60"}, Purpose::point);
    ASSERT_NE(queue.running(), nullptr);
    std::this_thread::sleep_for(std::chrono::microseconds(200 * turn));  // how far it is has been said, and not read yet
    queue.cancelAll();
    QApplication::processEvents();
    QTest::qWait(120);  // progress is said ten times a second
  }
  EXPECT_TRUE(idle_all_along);
  queue.add({"h2o:slots=8"}, Purpose::point);
  ASSERT_TRUE(waitIdle()) << "the queue goes on";
  EXPECT_EQ(queue.runs().back().state, RunState::done);
}

TEST_F(RunQueueTest, AnEditComesFirstAndTheQueueGoesOnAfterIt) {
  queue.add({"h2o:slots=8", "h2o:slots=9"}, Purpose::lane);
  controller.setPrompt("The house number of Helen is 7.");
  controller.generate(6);
  ASSERT_TRUE(waitIdle());
  EXPECT_EQ(workspace.snapshot().prompt, "The house number of Helen is 7.");
  EXPECT_EQ(specs().size(), 4u);
  for (const LaneSnapshot& lane : workspace.snapshot().lanes) EXPECT_EQ(lane.steps.size(), 7u) << lane.spec;
}

/// The engine goes on with its last request on the new model, and a run beside the others is none of theirs.
TEST_F(RunQueueTest, AModelThatIsOpenedMeanwhileRunsWhatIsInTheList) {
  for (const bool ended : {false, true}) {
    queue.add({"h2o:slots=8"}, Purpose::point);
    ASSERT_NE(queue.running(), nullptr);
    if (ended) {
      ASSERT_TRUE(waitIdle());
    }
    std::size_t most = 0;
    const auto shown = QObject::connect(&workspace, &Workspace::snapshotChanged, &workspace,
                                        [&] { most = std::max(most, workspace.snapshot().lanes.size()); });
    controller.loadModel(controller.modelFolder());
    fprintf(stderr, "steps %zu\n", workspace.snapshot().lanes[0].steps.size());
    queue.cancelAll();
    ASSERT_TRUE(waitIdle());
    EXPECT_EQ(most, 2u) << (ended ? "after that run" : "during that run");
    EXPECT_EQ(specs().size(), controller.request().lanes.size());
    QObject::disconnect(shown);
  }
}

TEST_F(RunQueueTest, ARunThatCannotBeSaysWhyAndTheOthersGoOn) {
  queue.add({"headkv:slots=8,scores=missing.json", "h2o:slots=9"}, Purpose::lane);
  ASSERT_TRUE(waitIdle());
  EXPECT_EQ(queue.runs()[0].state, RunState::failed);
  EXPECT_TRUE(queue.runs()[0].failure.contains("missing.json")) << queue.runs()[0].failure.toStdString();
  EXPECT_EQ(specs().size(), 3u);
  EXPECT_EQ(workspace.snapshot().phase, RunPhase::idle) << "what is on screen did not fail";
  controller.generate(5);
  ASSERT_TRUE(waitIdle());
  EXPECT_EQ(specs().size(), 3u);
}

TEST_F(RunQueueTest, WhatHasNoRoomBesideTheOthersIsNoRun) {
  RunRequest many = controller.request();
  many.n_generate = 0;
  while (many.lanes.size() < kMostRuns) many.lanes.push_back(parse_lane_spec("local:slots=" + std::to_string(many.lanes.size() + 8)));
  controller.replaceRequest(many);
  ASSERT_TRUE(waitIdle());
  std::vector<std::string> measured;
  QObject::connect(&queue, &RunQueue::measured, &queue, [&](const QueuedRun& run, const SnapshotPtr&) { measured.push_back(run.spec); });
  queue.add({"h2o:slots=8", "h2o:slots=9", "h2o:slots=10"}, Purpose::lane);
  queue.add({"knorm:slots=8"}, Purpose::point);
  ASSERT_TRUE(waitIdle());
  EXPECT_EQ(controller.request().lanes.size(), kMostRuns + 1u) << "a file keeps no more";
  EXPECT_EQ(measured, (std::vector<std::string>{"h2o:slots=8", "knorm:slots=8"})) << "what is only measured joins nothing";
  std::vector<RunState> states;
  for (const QueuedRun& run : queue.runs()) states.push_back(run.state);
  EXPECT_EQ(states, (std::vector<RunState>{RunState::done, RunState::failed, RunState::failed, RunState::done}));
  EXPECT_TRUE(queue.runs()[1].failure.contains("room for 256 runs")) << queue.runs()[1].failure.toStdString();
}

TEST_F(RunQueueTest, StopEndsTheRunInWorkOnlyUntilItIsItsTurnAgain) {
  queue.add({"h2o:slots=8"}, Purpose::lane);
  controller.stop();
  ASSERT_TRUE(waitFor([this] { return workspace.snapshot().phase == RunPhase::idle; }, 60000));
  EXPECT_EQ(specs().size(), 2u) << "a run that was stopped half-way is no lane";
}

}  // namespace
}  // namespace kvscope
