// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>

namespace kvscope {

/// A fixed team of threads for data-parallel loops. The calling thread works too. One loop at a time, from one thread; a loop
/// started inside a loop runs whole on the thread that starts it, with that thread's worker index.
/// Workers spin for a short while after a loop and then sleep, so an idle program uses no CPU.
class ThreadPool {
 public:
  /// n_threads >= 1, the caller included; 0: one per core.
  explicit ThreadPool(int n_threads = 0);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int n_threads() const;

  /// Calls body(begin, end) over disjoint chunks that cover [0, n), each of at least `grain` items but the last. Chunk bounds are multiples
  /// of `grain`, so results that depend on tiles of `grain` items are the same for any number of threads. The first exception is rethrown
  /// here.
  void parallel_for(int n, int grain, const std::function<void(int, int)>& body);

  /// The same with body(begin, end, worker), worker in [0, n_threads()): no two calls at the same time have the same worker, so it can
  /// index scratch memory. Which worker gets which chunk varies from run to run.
  void parallel_for_worker(int n, int grain, const std::function<void(int, int, int)>& body);

 private:
  struct Team;
  std::unique_ptr<Team> team_;
};

}  // namespace kvscope
