// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/runner.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "core/machine_memory.h"
#include "runs.h"
#include "wait_for.h"

namespace kvscope {
namespace {

using namespace kvscope::testing;

RunRequest small(int n, unsigned seed) {
  RunRequest request;
  request.prompt_ids = random_ids(n, 64, seed);
  request.n_generate = 4;
  return request;
}

TEST(Runner, AnswersTheNewestOfManyRequestsAndNeverGoesBack) {
  Mailbox mailbox;
  std::atomic<std::uint64_t> newest_seen = 0;
  std::atomic<bool> went_back = false;
  Runner runner(mailbox, [&] {
    const std::uint64_t generation = mailbox.latest()->generation;
    if (generation < newest_seen) went_back = true;
    newest_seen = generation;
  });
  runner.load_model(tiny_model(), {.precision = DType::f32, .n_threads = 1});
  std::uint64_t last = 0;
  for (unsigned i = 0; i < 300; ++i) last = runner.submit(small(40 + static_cast<int>(i % 60), i));
  const SnapshotPtr out = wait_for(mailbox, [&](const Snapshot& s) { return s.generation == last && s.phase == RunPhase::idle; });
  EXPECT_EQ(out->n_prompt, 40 + 299 % 60);
  EXPECT_FALSE(went_back);
}

TEST(Runner, AFailureKeepsTheLastGoodPictureAndTheNextRequestWorks) {
  Mailbox mailbox;
  Runner runner(mailbox, [] {});
  runner.load_model(tiny_model(), {.precision = DType::f32, .n_threads = 1});
  const std::uint64_t good = runner.submit(small(20, 1));
  wait_for(mailbox, [&](const Snapshot& s) { return s.generation == good && s.phase == RunPhase::idle; });
  const std::uint64_t bad = runner.load_model("/no/such/folder", {});
  const SnapshotPtr failed = wait_for(mailbox, [&](const Snapshot& s) { return s.generation == bad && s.phase == RunPhase::failed; });
  EXPECT_NE(failed->failure.find("/no/such/folder"), std::string::npos);
  EXPECT_EQ(failed->n_prompt, 20);  // still on screen
  const std::uint64_t again = runner.submit(small(25, 2));
  const SnapshotPtr out = wait_for(mailbox, [&](const Snapshot& s) { return s.generation == again && s.phase == RunPhase::idle; });
  EXPECT_EQ(out->n_prompt, 25);
}

TEST(Runner, WithoutAModelItSaysSo) {
  Mailbox mailbox;
  Runner runner(mailbox, [] {});
  const std::uint64_t generation = runner.submit(small(5, 1));
  const SnapshotPtr out = wait_for(mailbox, [&](const Snapshot& s) { return s.generation == generation; });
  EXPECT_EQ(out->phase, RunPhase::failed);
  EXPECT_NE(out->failure.find("no model"), std::string::npos);
}

TEST(Runner, StopKeepsWhatWasFinished) {
  Mailbox mailbox;
  Runner runner(mailbox, [] {});
  runner.load_model(embedded_model(), {.precision = DType::f32, .n_threads = 1});
  RunRequest request;
  request.prompt = "Once upon a time there was a castle";
  request.n_generate = 900;
  const std::uint64_t generation = runner.submit(request);
  wait_for(mailbox, [&](const Snapshot& s) { return s.generation == generation && !s.lanes.empty() && s.lanes[0].steps.size() > 5; });
  runner.stop();
  const SnapshotPtr out = wait_for(mailbox, [&](const Snapshot& s) { return s.phase == RunPhase::idle; });
  EXPECT_GT(out->lanes[0].steps.size(), 5u);
  EXPECT_LT(out->lanes[0].steps.size(), 901u);
}

TEST(Runner, StoppedBeforeAnythingOfItIsThereIsNoAnswer) {
  Mailbox mailbox;
  Runner runner(mailbox, [] {});
  runner.load_model(embedded_model(), {.precision = DType::f32, .n_threads = 1});
  RunRequest request;
  request.prompt = "Once upon a time there was a castle";
  request.detail = Detail::summary;  // nothing is shown before the end
  request.n_generate = 3;
  const std::uint64_t first = runner.submit(request);
  wait_for(mailbox, [&](const Snapshot& s) { return s.generation == first && s.phase == RunPhase::idle; });
  request.n_generate = 900;  // of the same text: what is there is its beginning
  const std::uint64_t longer = runner.submit(request);
  wait_for(mailbox, [&](const Snapshot& s) { return s.phase == RunPhase::computing; });
  runner.stop();
  EXPECT_EQ(wait_for(mailbox, [&](const Snapshot& s) { return s.generation == longer && s.phase != RunPhase::computing; })->phase,
            RunPhase::idle);
  request.prompt_ids = random_ids(900, 64, 1);  // read for longer than it takes to stop it
  request.n_generate = 3;
  const std::uint64_t other = runner.submit(request);
  wait_for(mailbox, [&](const Snapshot& s) { return s.phase == RunPhase::computing; });
  runner.stop();
  const SnapshotPtr out = wait_for(mailbox, [&](const Snapshot& s) { return s.generation == other && s.phase != RunPhase::computing; });
  EXPECT_EQ(out->phase, RunPhase::failed);
  EXPECT_NE(out->failure.find("stopped before"), std::string::npos) << out->failure;
  EXPECT_EQ(out->prompt, "Once upon a time there was a castle") << "what is shown is of the text before";
}

/// Of runs that were taken away, once nothing is asked for.
TEST(Runner, WhatWasFreedComesBackWhileItRests) {
#if !defined(__GLIBC__) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "another allocator";
#endif
  Mailbox mailbox;
  Runner runner(mailbox, [] {});
  runner.load_model(tiny_model(), {.precision = DType::f32, .n_threads = 1});
  const auto answer = [&](unsigned seed) {
    const std::uint64_t of = runner.submit(small(20, seed));
    wait_for(mailbox, [&](const Snapshot& s) { return s.generation == of && s.phase == RunPhase::idle; });
  };
  answer(1);
  std::this_thread::sleep_for(std::chrono::seconds(4));  // it rests, and knows what there is
  std::vector<std::vector<char>> blocks;
  for (int i = 0; i < 10000; ++i) blocks.emplace_back(16 * 1024, 'x');
  const std::vector<char> in_use(16 * 1024);
  blocks.clear();
  const double before = process_memory().resident;
  answer(2);
  for (int i = 0; i < 200 && process_memory().resident > before - 100e6; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_LT(process_memory().resident, before - 100e6);
}

}  // namespace
}  // namespace kvscope
