// SPDX-License-Identifier: Apache-2.0
#include "emulator.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

// Switching by hand costs a few nanoseconds; the portable way a thousand.
#if defined(__x86_64__)
#define EMULATOR_FAST 1
#else
#include <ucontext.h>
#endif

#if defined(EMULATOR_FAST)
// switch_stack(save, to): keeps what a call must keep on this stack, leaves its top in *save and goes on where `to` stopped.
extern "C" void kvscope_emulator_switch(void** save, void* to);
asm(R"(
.text
.type kvscope_emulator_switch, @function
kvscope_emulator_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size kvscope_emulator_switch, .-kvscope_emulator_switch
)");
#endif

thread_local constinit dim3 threadIdx, blockIdx, blockDim, gridDim;

namespace emulator {

namespace {

constexpr std::size_t kStack = 256 * 1024;
std::atomic<bool> is_idle{false};
Answer answer_while_idle;

[[noreturn]] void complain(const char* what) {
  std::fprintf(stderr, "cuda emulator: %s (block %u, thread %u)\n", what, blockIdx.x, threadIdx.x);
  std::abort();
}

constexpr std::size_t kMostGiven = 32;  // bytes of a lane

struct Warp {
  alignas(16) unsigned char values[2][32 * kMostGiven] = {};
  int size = 0, arrived = 0;
  unsigned turn = 0;
  bool lost = false;  // a lane has left
};

struct Copy {
  void* to = nullptr;
  const void* from = nullptr;
  std::size_t bytes = 0;
};

struct Fiber {
  std::vector<Copy> copies;
  std::unique_ptr<char[]> stack = std::make_unique_for_overwrite<char[]>(kStack);
#if defined(EMULATOR_FAST)
  void* top = nullptr;
#else
  ucontext_t context;
#endif
  bool done = true;
  const unsigned* waits_for = nullptr;  // a turn that is to end; nullptr: it can go on
  unsigned turn = 0;
};

/// The block in work on this host thread.
struct Block {
  std::vector<Fiber> fibers;
  std::vector<Warp> warps;
  std::vector<unsigned char> shared;
  const std::function<void()>* kernel = nullptr;
  int threads = 0, current = 0, alive = 0, waiting = 0;
  unsigned turn = 0;
#if defined(EMULATOR_FAST)
  void* scheduler = nullptr;
#else
  ucontext_t scheduler;
#endif
};
thread_local constinit Block* block = nullptr;
Order order = Order::ascending;

void enter(int thread) {
  block->current = thread;
  threadIdx = dim3(static_cast<unsigned>(thread), 0, 0);
}

bool can_go_on(const Fiber& fiber) { return !fiber.done && (fiber.waits_for == nullptr || *fiber.waits_for != fiber.turn); }

/// To the next thread that can go on, round the block, or, where there is none, to who runs it.
void to_next() {
  Fiber& me = block->fibers[static_cast<std::size_t>(block->current)];
  const int n = block->threads, by = order == Order::ascending ? 1 : n - 1;
  for (int i = 1, t = block->current; i < n; ++i) {
    t = t + by < n ? t + by : t + by - n;
    Fiber& next = block->fibers[static_cast<std::size_t>(t)];
    if (!can_go_on(next)) continue;
    enter(t);
#if defined(EMULATOR_FAST)
    const int then = t + by < n ? t + by : t + by - n;  // most often the one after that: its stack is not at hand
    const char* const top = static_cast<const char*>(block->fibers[static_cast<std::size_t>(then)].top);
    for (const int line : {0, 64, 128}) __builtin_prefetch(top + line);
    return kvscope_emulator_switch(&me.top, next.top);
#else
    swapcontext(&me.context, &next.context);
    return;
#endif
  }
#if defined(EMULATOR_FAST)
  kvscope_emulator_switch(&me.top, block->scheduler);
#else
  swapcontext(&me.context, &block->scheduler);
#endif
}

/// Until another thread ends this turn. Who waits is not resumed before: most of a block waits most of the time.
void wait_while(const unsigned& turn, unsigned now) {
  Fiber& me = block->fibers[static_cast<std::size_t>(block->current)];
  me.waits_for = &turn;
  me.turn = now;
  while (turn == now) to_next();
  me.waits_for = nullptr;
}

void release_block() {
  if (block->waiting == 0 || block->waiting < block->alive) return;
  block->waiting = 0;
  ++block->turn;
}

void fiber_main() {
  (*block->kernel)();
  if (!block->fibers[static_cast<std::size_t>(block->current)].copies.empty()) complain("a thread has left before its copies were there");
  block->fibers[static_cast<std::size_t>(block->current)].done = true;
  Warp& warp = block->warps[static_cast<std::size_t>(block->current / 32)];
  warp.lost = true;
  if (warp.arrived > 0) complain("a lane has left while its warp waits in a shuffle");
  --block->alive;
  release_block();
  to_next();
}

/// Stacks lie a power of two apart: they begin at different places, so that a processor's cache holds more than a few of them.
void start(Fiber& fiber, std::size_t number) {
  fiber.done = false;
  fiber.waits_for = nullptr;
#if defined(EMULATOR_FAST)
  auto* top = reinterpret_cast<void**>(fiber.stack.get() + kStack - 64 - number % 128 * 576);
  top = reinterpret_cast<void**>(reinterpret_cast<std::uintptr_t>(top) / 16 * 16);
  *--top = nullptr;  // where fiber_main would return to; also the alignment that a call leaves behind
  *--top = reinterpret_cast<void*>(&fiber_main);
  for (int i = 0; i < 6; ++i) *--top = nullptr;
  fiber.top = top;
#else
  getcontext(&fiber.context);
  fiber.context.uc_stack.ss_sp = fiber.stack.get();
  fiber.context.uc_stack.ss_size = kStack;
  fiber.context.uc_link = nullptr;
  makecontext(&fiber.context, fiber_main, 0);
#endif
}

/// Until no thread can go on.
void begin_with(int thread) {
  enter(thread);
  Fiber& fiber = block->fibers[static_cast<std::size_t>(thread)];
#if defined(EMULATOR_FAST)
  kvscope_emulator_switch(&block->scheduler, fiber.top);
#else
  swapcontext(&block->scheduler, &fiber.context);
#endif
}

void run_block(int threads) {
  if (block->fibers.size() < static_cast<std::size_t>(threads)) block->fibers.resize(static_cast<std::size_t>(threads));
  block->warps.assign(static_cast<std::size_t>(threads + 31) / 32, Warp());
  block->threads = block->alive = threads;
  block->waiting = 0;
  for (int t = 0; t < threads; ++t) {
    start(block->fibers[static_cast<std::size_t>(t)], static_cast<std::size_t>(t));
    ++block->warps[static_cast<std::size_t>(t / 32)].size;
  }
  begin_with(order == Order::ascending ? 0 : threads - 1);
  if (block->alive > 0) complain("threads wait for each other for ever: not all of them reach a barrier or shuffle");
}

void run_grid(dim3 grid, dim3 block_size, std::size_t shared_bytes, const std::function<void()>& kernel) {
  if (block_size.y != 1 || block_size.z != 1 || block_size.x % 32 != 0 || block_size.x > 1024)
    complain("a block size that is not emulated");
  static thread_local Block own;
  block = &own;
  block->kernel = &kernel;
  blockDim = block_size;
  gridDim = grid;
  for (unsigned z = 0; z < grid.z; ++z) {
    for (unsigned y = 0; y < grid.y; ++y) {
      for (unsigned x = 0; x < grid.x; ++x) {
        block->shared = std::vector<unsigned char>(shared_bytes, 0xff);  // of its exact size and full of NaN
        blockIdx = dim3(x, y, z);
        run_block(static_cast<int>(block_size.x));
      }
    }
  }
}

}  // namespace

void set_idle(bool idle) { is_idle = idle; }
bool idle() { return is_idle; }
void set_answer(Answer wanted) { answer_while_idle = std::move(wanted); }
const Answer& answer() { return answer_while_idle; }

void run(dim3 grid, dim3 block_size, std::size_t shared_bytes, cudaStream_t stream, std::function<void()> kernel) {
  if (idle()) return;
  enqueue(stream, [=, kernel = std::move(kernel)] { run_grid(grid, block_size, shared_bytes, kernel); });
}

unsigned char* dynamic_shared() { return block->shared.data(); }

void wait_for_block() {
  const unsigned turn = block->turn;
  ++block->waiting;
  release_block();
  wait_while(block->turn, turn);
}

const void* exchange(const void* mine, std::size_t bytes) {
  Warp& warp = block->warps[static_cast<std::size_t>(block->current / 32)];
  if (bytes > kMostGiven) complain("more than a lane can give");
  if (warp.lost) complain("a shuffle of a warp that has lost a lane");
  const unsigned turn = warp.turn;
  std::memcpy(warp.values[turn % 2] + bytes * static_cast<std::size_t>(block->current % 32), mine, bytes);
  if (++warp.arrived == warp.size) {
    warp.arrived = 0;
    ++warp.turn;
  }
  wait_while(warp.turn, turn);
  return warp.values[turn % 2];
}

void copy_later(void* to, const void* from, std::size_t bytes) {
  block->fibers[static_cast<std::size_t>(block->current)].copies.push_back({to, from, bytes});
}

void wait_for_copies() {
  std::vector<Copy>& copies = block->fibers[static_cast<std::size_t>(block->current)].copies;
  for (const Copy& copy : copies) std::memcpy(copy.to, copy.from, copy.bytes);
  copies.clear();
}

void set_order(Order wanted) { order = wanted; }

}  // namespace emulator
