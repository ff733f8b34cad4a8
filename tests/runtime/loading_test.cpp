// SPDX-License-Identifier: Apache-2.0
#include "runtime/model/loading.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "arch/sparse_model.h"
#include "core/error.h"
#include "core/machine_memory.h"
#include "io/temp_folder.h"
#include "runs.h"
#include "runtime/session/runner.h"
#include "wait_for.h"

namespace kvscope {
namespace {

using namespace kvscope::testing;
using State = LoadStage::State;

bool reading(const Snapshot& s) { return s.phase == RunPhase::loading && s.loading.size() == 4 && s.loading[1].bytes > 0; }

TEST(Loading, GoesThroughItsStagesInOrderAndCountsAllBytes) {
  CancelToken cancel;
  std::vector<std::vector<LoadStage>> said;
  LoadWatch watch(cancel, [&](const std::vector<LoadStage>& stages) { said.push_back(stages); });
  const auto session = load_session(tiny_model(), {.precision = DType::f32, .n_threads = 1}, watch);
  const double bytes = static_cast<double>(open_model(tiny_model()).weight_bytes);
  std::size_t running = 0;
  for (const std::vector<LoadStage>& stages : said) {
    ASSERT_EQ(stages.size(), 4u);
    const auto now = static_cast<std::size_t>(std::ranges::find(stages, State::running, &LoadStage::state) - stages.begin());
    ASSERT_LT(now, 4u);
    EXPECT_GE(now, running);
    running = now;
    for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(stages[i].state, i < now ? State::done : i == now ? State::running : State::waiting);
    for (const LoadStage& s : stages) EXPECT_LE(s.bytes, s.of_bytes);
  }
  EXPECT_EQ(running, 3u);
  EXPECT_EQ(said.back()[1].bytes, bytes);
  EXPECT_EQ(said.back()[1].of_bytes, bytes);
  EXPECT_EQ(said.back()[0].name, "read header");
}

TEST(Loading, GivesASessionThatRunsAsAnyOther) {
  CancelToken cancel;
  LoadWatch watch(cancel, {});
  const SessionOptions options{.precision = DType::f32, .n_threads = 1};
  const auto session = load_session(tiny_model(), options, watch);
  Session other(open_model(tiny_model()), options);
  RunRequest request;
  request.prompt_ids = random_ids(30, 64, 7);
  request.n_generate = 5;
  const Snapshot a = session->run(request, cancel), b = other.run(request, cancel);
  EXPECT_EQ(a.lanes[0].fed, b.lanes[0].fed);
  EXPECT_EQ(a.lanes[0].steps.back()->top_tokens[0].logit, b.lanes[0].steps.back()->top_tokens[0].logit);
  EXPECT_EQ(a.device, b.device);
}

TEST(Loading, EndsWithinAStage) {
  const test::TempFolder folder;
  test::write_sparse_model(folder.path(), 64);  // so much that even a busy machine has not read half of it before it is told
  CancelToken cancel;
  std::vector<LoadStage> last;
  LoadWatch watch(cancel, [&](const std::vector<LoadStage>& stages) {
    last = stages;
    if (stages[1].bytes > 0) cancel.cancel();
  });
  EXPECT_THROW(load_session(folder.path(), {}, watch), Cancelled);
  EXPECT_EQ(last[1].state, State::running);
  EXPECT_LT(last[1].bytes, last[1].of_bytes / 2) << "the rest was not read";
}

TEST(Loading, AModelLargerThanTheMemoryIsRefusedBeforeItIsRead) {
  const test::TempFolder folder;
  test::write_sparse_model(folder.path(), static_cast<int>(machine_memory() / 122e6) + 1);
  CancelToken cancel;
  double read = 0;
  LoadWatch watch(cancel, [&](const std::vector<LoadStage>& stages) { read += stages[1].bytes; });
  try {
    load_session(folder.path(), {.device = "cpu"}, watch);
    FAIL() << "opened";
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), ::testing::HasSubstr(folder.path() + ": expected a model that fits into the "));
    EXPECT_THAT(e.what(), ::testing::HasSubstr("take a smaller model"));
  }
  EXPECT_EQ(read, 0);
}

TEST(Loading, TheMemoryThatAModelNeedsIsItsWeightsAndAShortText) {
  const ModelFiles files = open_model(tiny_model());
  const double needed = static_cast<double>(least_bytes(files, DType::f32));
  EXPECT_GT(needed, static_cast<double>(files.weight_bytes));
  EXPECT_NO_THROW(check_memory(files, DType::f32, needed));
  EXPECT_THROW(check_memory(files, DType::f32, needed - 1), Error);
}

TEST(Loading, ARequestMeanwhileWaitsForTheModelAndStopEndsIt) {
  const test::TempFolder folder;
  test::write_sparse_model(folder.path(), 64);
  Mailbox mailbox;
  Runner runner(mailbox, [] {});
  runner.load_model(folder.path(), {});
  wait_for(mailbox, reading);
  RunRequest request;
  request.prompt_ids = {1, 2, 3};
  runner.submit(request);
  const double before = mailbox.latest()->loading.at(1).bytes;
  wait_for(mailbox, [&](const Snapshot& s) { return reading(s) && s.loading[1].bytes > before; });  // it goes on
  runner.stop();
  const SnapshotPtr ended = wait_for(mailbox, [](const Snapshot& s) { return s.phase == RunPhase::failed; });
  EXPECT_FALSE(ended->loading.empty()) << "so far it was, and it is not open";
  const std::uint64_t generation = runner.load_model(tiny_model(), {.precision = DType::f32, .n_threads = 1});
  const SnapshotPtr good = wait_for(mailbox, [&](const Snapshot& s) { return s.generation == generation && s.phase == RunPhase::idle; });
  EXPECT_EQ(good->n_prompt, 3) << "the request was kept";
}

TEST(Loading, AStopKeepsTheModelThatWasOpen) {
  const test::TempFolder folder;
  test::write_sparse_model(folder.path(), 64);
  Mailbox mailbox;
  Runner runner(mailbox, [] {});
  runner.load_model(tiny_model(), {.precision = DType::f32, .n_threads = 1});
  RunRequest request;
  request.prompt_ids = random_ids(20, 64, 3);
  std::uint64_t generation = runner.submit(request);
  wait_for(mailbox, [&](const Snapshot& s) { return s.generation == generation && s.phase == RunPhase::idle; });
  generation = runner.load_model(folder.path(), {});
  const SnapshotPtr during = wait_for(mailbox, reading);
  EXPECT_EQ(during->n_prompt, 20) << "the old picture stays";
  runner.stop();
  const SnapshotPtr after = wait_for(mailbox, [&](const Snapshot& s) { return s.generation == generation && s.phase == RunPhase::idle; });
  EXPECT_EQ(after->n_prompt, 20);
  EXPECT_FALSE(after->loading.empty()) << "what is shown is of the model before";
  request.prompt_ids = random_ids(25, 64, 4);
  generation = runner.submit(request);
  const SnapshotPtr next = wait_for(mailbox, [&](const Snapshot& s) { return s.generation == generation && s.phase == RunPhase::idle; });
  EXPECT_EQ(next->n_prompt, 25);
  EXPECT_TRUE(next->loading.empty());
}

TEST(Loading, QuittingDoesNotWaitForIt) {
  const test::TempFolder folder;
  test::write_sparse_model(folder.path(), 64);
  Mailbox mailbox;
  {
    Runner runner(mailbox, [] {});
    runner.load_model(folder.path(), {});
    wait_for(mailbox, reading);
  }
  EXPECT_LT(mailbox.latest()->loading.at(1).bytes, mailbox.latest()->loading.at(1).of_bytes);
}

}  // namespace
}  // namespace kvscope
