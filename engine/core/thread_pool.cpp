// SPDX-License-Identifier: Apache-2.0
#include "core/thread_pool.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "core/error.h"

namespace kvscope {

namespace {

// Long enough to bridge the serial pieces between two loops of a forward pass, far shorter than a scheduler quantum: a spinning thread
// must not hold up another program (or our own other thread) when the cores are shared.
constexpr auto kSpin = std::chrono::microseconds(40);
constexpr int kChunksPerThread = 8;  // spare chunks let a fast thread help a slow one

void cpu_relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Worker index of the loop this thread is in; -1: in none. A loop inside a loop runs where it is called.
thread_local int current_worker = -1;

class InLoop {
 public:
  explicit InLoop(int worker) { current_worker = worker; }
  ~InLoop() { current_worker = -1; }
};

/// True when `done` came true within kSpin.
template <class Predicate>
bool spin_until(const Predicate& done) {
  const auto end = std::chrono::steady_clock::now() + kSpin;
  do {
    for (int i = 0; i < 32; ++i) {
      if (done()) return true;
      cpu_relax();
    }
  } while (std::chrono::steady_clock::now() < end);
  return false;
}

}  // namespace

/// One loop at a time. `state` is (number of the loop << 32) | chunks not yet taken; a chunk is taken by lowering it with compare-exchange.
/// The description of the loop changes only while no chunk is left to take, so whichever thread takes one has read the right one, and a
/// worker that wakes up late finds nothing and touches nothing.
struct ThreadPool::Team {
  std::vector<std::thread> workers;

  std::atomic<std::uint64_t> state = 0;
  std::atomic<const std::function<void(int, int, int)>*> body = nullptr;
  std::atomic<int> items = 0, chunk = 1, n_chunks = 0;
  std::atomic<int> finished = 0;  // chunks
  std::atomic<bool> stop = false;
  bool in_loop = false;  // the caller's own

  std::mutex mutex;  // guards the two condition variables and `failure`
  std::condition_variable work, done;
  std::atomic<int> sleeping = 0;
  std::atomic<bool> caller_sleeps = false;
  std::exception_ptr failure;

  void take_chunks(int worker) {
    std::uint64_t s = state.load(std::memory_order_acquire);
    while ((s & 0xffffffffu) != 0) {
      const auto* f = body.load(std::memory_order_relaxed);
      const int n = items.load(std::memory_order_relaxed), size = chunk.load(std::memory_order_relaxed);
      const int total = n_chunks.load(std::memory_order_relaxed);
      if (!state.compare_exchange_weak(s, s - 1, std::memory_order_acq_rel, std::memory_order_acquire)) continue;
      const int index = total - static_cast<int>(s & 0xffffffffu);
      const int begin = index * size, end = index == total - 1 ? n : begin + size;
      try {
        const InLoop mark(worker);
        (*f)(begin, end, worker);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!failure) failure = std::current_exception();
      }
      if (finished.fetch_add(1, std::memory_order_seq_cst) + 1 == total && caller_sleeps.load(std::memory_order_seq_cst)) {
        const std::lock_guard lock(mutex);
        done.notify_one();
      }
      s = state.load(std::memory_order_acquire);
    }
  }

  void run_worker(int worker) {
    for (std::uint32_t seen = 0;;) {
      const auto news = [&] { return std::uint32_t(state.load(std::memory_order_seq_cst) >> 32) != seen || stop.load(); };
      if (!spin_until(news)) {
        std::unique_lock lock(mutex);
        sleeping.fetch_add(1, std::memory_order_seq_cst);
        work.wait(lock, news);
        sleeping.fetch_sub(1, std::memory_order_seq_cst);
      }
      if (stop.load()) return;
      seen = std::uint32_t(state.load(std::memory_order_acquire) >> 32);
      take_chunks(worker);
    }
  }

  /// Also of those that were started before one could not be.
  ~Team() {
    stop = true;
    { const std::lock_guard lock(mutex); }
    work.notify_all();
    for (std::thread& t : workers) t.join();
  }
};

ThreadPool::ThreadPool(int n_threads) : team_(std::make_unique<Team>()) {
  KVSCOPE_ASSERT(n_threads >= 0);
  if (n_threads == 0) n_threads = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  team_->workers.reserve(static_cast<std::size_t>(n_threads) - 1);  // no thread is started that has no place
  for (int i = 1; i < n_threads; ++i) team_->workers.emplace_back([team = team_.get(), i] { team->run_worker(i); });
}

ThreadPool::~ThreadPool() = default;

int ThreadPool::n_threads() const { return static_cast<int>(team_->workers.size()) + 1; }

void ThreadPool::parallel_for(int n, int grain, const std::function<void(int, int)>& body) {
  parallel_for_worker(n, grain, [&body](int begin, int end, int) { body(begin, end); });
}

void ThreadPool::parallel_for_worker(int n, int grain, const std::function<void(int, int, int)>& body) {
  KVSCOPE_ASSERT(grain >= 1);
  if (n <= 0) return;
  if (current_worker >= 0) return body(0, n, current_worker);
  KVSCOPE_ASSERT(!team_->in_loop);
  const auto up = [](std::int64_t a, std::int64_t b) { return (a + b - 1) / b; };
  const std::int64_t grains = up(n, grain);
  const std::int64_t per_chunk = up(grains, static_cast<std::int64_t>(n_threads()) * kChunksPerThread);
  const int chunks = static_cast<int>(up(grains, per_chunk));
  Team& t = *team_;
  if (chunks == 1 || t.workers.empty()) return body(0, n, 0);

  t.in_loop = true;
  t.body.store(&body, std::memory_order_relaxed);
  t.items.store(n, std::memory_order_relaxed);
  t.chunk.store(static_cast<int>(per_chunk * grain), std::memory_order_relaxed);
  t.n_chunks.store(chunks, std::memory_order_relaxed);
  t.finished.store(0, std::memory_order_relaxed);
  const std::uint64_t loop = (t.state.load(std::memory_order_relaxed) >> 32) + 1;
  t.state.store((loop << 32) | static_cast<std::uint32_t>(chunks), std::memory_order_seq_cst);
  if (t.sleeping.load(std::memory_order_seq_cst) > 0) {
    { const std::lock_guard lock(t.mutex); }  // a worker between its last look and its sleep is past it now
    t.work.notify_all();
  }
  t.take_chunks(0);
  const auto all_done = [&] { return t.finished.load(std::memory_order_seq_cst) == chunks; };
  if (!spin_until(all_done)) {
    std::unique_lock lock(t.mutex);
    t.caller_sleeps.store(true, std::memory_order_seq_cst);
    t.done.wait(lock, all_done);
    t.caller_sleeps.store(false, std::memory_order_relaxed);
  }
  t.in_loop = false;
  if (t.failure) std::rethrow_exception(std::exchange(t.failure, nullptr));
}

}  // namespace kvscope
