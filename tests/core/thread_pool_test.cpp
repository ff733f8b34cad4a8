// SPDX-License-Identifier: Apache-2.0
#include "core/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace kvscope {
namespace {

TEST(ThreadPools, CoverTheRangeExactlyOnce) {
  for (const int threads : {1, 2, 5}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.n_threads(), threads);
    for (const int n : {0, 1, 2, 7, 64, 1000, 12345}) {
      for (const int grain : {1, 3, 64, 100000}) {
        std::vector<std::atomic<int>> hits(static_cast<std::size_t>(n));
        pool.parallel_for(n, grain, [&](int begin, int end) {
          ASSERT_LT(begin, end);
          for (int i = begin; i < end; ++i) ++hits[static_cast<std::size_t>(i)];
        });
        for (int i = 0; i < n; ++i) ASSERT_EQ(hits[static_cast<std::size_t>(i)], 1) << i << " of " << n << ", grain " << grain;
      }
    }
  }
}

TEST(ThreadPools, CutAtMultiplesOfTheGrain) {
  ThreadPool pool(5);
  std::atomic<int> chunks = 0;
  pool.parallel_for(1003, 8, [&](int begin, int end) {
    ++chunks;
    EXPECT_EQ(begin % 8, 0);
    EXPECT_TRUE(end == 1003 || end % 8 == 0);
    EXPECT_TRUE(end == 1003 || end - begin >= 8);
  });
  EXPECT_GT(chunks, 1);
}

TEST(ThreadPools, DoNotCutWhatIsSmallerThanOneGrain) {
  ThreadPool pool(5);
  int calls = 0;
  const std::thread::id caller = std::this_thread::get_id();
  pool.parallel_for(31, 32, [&](int begin, int end) {
    ++calls;
    EXPECT_EQ(begin, 0);
    EXPECT_EQ(end, 31);
    EXPECT_EQ(std::this_thread::get_id(), caller);
  });
  EXPECT_EQ(calls, 1);
}

TEST(ThreadPools, WorkersAtTheSameTimeHaveDifferentNumbers) {
  ThreadPool pool(4);
  std::vector<std::atomic<int>> busy(4);
  for (int round = 0; round < 200; ++round) {
    pool.parallel_for_worker(64, 1, [&](int, int, int worker) {
      ASSERT_GE(worker, 0);
      ASSERT_LT(worker, 4);
      EXPECT_EQ(busy[static_cast<std::size_t>(worker)].fetch_add(1), 0);
      std::this_thread::yield();
      busy[static_cast<std::size_t>(worker)].fetch_sub(1);
    });
  }
}

TEST(ThreadPools, RethrowTheExceptionAndWorkOnAfterwards) {
  for (const int threads : {1, 3}) {
    ThreadPool pool(threads);
    for (int round = 0; round < 20; ++round) {
      std::string message;
      try {
        pool.parallel_for(100, 1, [](int begin, int end) {
          if (begin <= 57 && 57 < end) throw std::runtime_error("item 57");
        });
      } catch (const std::runtime_error& e) {
        message = e.what();
      }
      EXPECT_EQ(message, "item 57");
      std::atomic<int> sum = 0;
      pool.parallel_for(10, 1, [&](int begin, int end) {
        for (int i = begin; i < end; ++i) sum += i;
      });
      EXPECT_EQ(sum, 45);
    }
  }
}

TEST(ThreadPools, RunManyShortLoops) {
  ThreadPool pool(3);
  std::vector<int> x(97, 0);
  for (int loop = 0; loop < 20000; ++loop) {
    pool.parallel_for(97, 4, [&](int begin, int end) {
      for (int i = begin; i < end; ++i) ++x[static_cast<std::size_t>(i)];
    });
  }
  EXPECT_EQ(x, std::vector<int>(97, 20000));
}

TEST(ThreadPools, WakeUpAfterSleeping) {
  ThreadPool pool(3);
  std::atomic<int> sum = 0;
  for (int round = 0; round < 5; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(3));  // far beyond the spinning time
    pool.parallel_for(30, 1, [&](int begin, int end) { sum += end - begin; });
  }
  EXPECT_EQ(sum, 150);
}

TEST(ThreadPools, WaitForASlowWorker) {
  ThreadPool pool(2);
  std::atomic<int> done = 0;
  pool.parallel_for_worker(8, 1, [&](int begin, int end, int worker) {
    if (worker != 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    done += end - begin;
  });
  EXPECT_EQ(done, 8);
}

TEST(ThreadPools, CanBeDestroyedUnusedIdleAndRightAfterALoop) {
  for (int round = 0; round < 50; ++round) {
    ThreadPool unused(4);
    ThreadPool pool(4);
    pool.parallel_for(16, 1, [](int, int) {});
    if (round % 10 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

TEST(ThreadPools, UseOneThreadPerCoreByDefault) {
  ThreadPool pool;
  EXPECT_GE(pool.n_threads(), 1);
  EXPECT_EQ(pool.n_threads(), std::max(1, static_cast<int>(std::thread::hardware_concurrency())));
}

TEST(ThreadPool, ALoopInsideALoopCoversItsRangeOnTheSameThread) {
  ThreadPool pool(3);
  std::vector<std::atomic<int>> hits(40 * 50);
  std::atomic<int> strangers = 0;
  pool.parallel_for(40, 1, [&](int begin, int end) {
    for (int i = begin; i < end; ++i) {
      const auto outer = std::this_thread::get_id();
      pool.parallel_for_worker(50, 1, [&](int b, int e, int) {
        if (std::this_thread::get_id() != outer) ++strangers;
        for (int j = b; j < e; ++j) ++hits[static_cast<std::size_t>(i * 50 + j)];
      });
    }
  });
  EXPECT_EQ(strangers, 0);
  for (const auto& h : hits) EXPECT_EQ(h, 1);
}

}  // namespace
}  // namespace kvscope
