// SPDX-License-Identifier: Apache-2.0
#include "io/map_faults.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <mutex>

namespace kvscope {
namespace {

struct WatchedMap {
  std::atomic<std::uintptr_t> begin = 0, end = 0;  // begin 0: a free place; end is written first
  std::atomic<bool> faults = false;
};

static_assert(std::atomic<std::uintptr_t>::is_always_lock_free && std::atomic<bool>::is_always_lock_free, "read by a signal handler");
WatchedMap maps[kMostWatchedMaps];
std::mutex changes;  // of who adds and removes; the handler takes none
std::uintptr_t page = 0;
struct sigaction before;

/// Only calls that a handler may make (mmap is a bare system call here), and errno is put back by the kernel's return to the same
/// instruction.
void on_bus_error(int signal, siginfo_t* info, void* context) {
  const auto at = reinterpret_cast<std::uintptr_t>(info->si_addr);
  for (WatchedMap& map : maps) {
    const std::uintptr_t begin = map.begin.load(std::memory_order_acquire);
    if (begin == 0 || at < begin || at >= map.end.load(std::memory_order_relaxed)) continue;
    void* const start = reinterpret_cast<void*>(at & ~(page - 1));
    if (::mmap(start, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED) break;
    map.faults.store(true, std::memory_order_release);
    return;
  }
  if (before.sa_flags & SA_SIGINFO) return before.sa_sigaction(signal, info, context);
  if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) return before.sa_handler(signal);
  ::sigaction(SIGBUS, &before, nullptr);  // not ours: the instruction runs again and does what it would have done
}

void install() {
  page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  struct sigaction action {};
  action.sa_sigaction = on_bus_error;
  action.sa_flags = SA_SIGINFO;
  ::sigaction(SIGBUS, &action, &before);
}

WatchedMap* find(const void* data) {
  for (WatchedMap& map : maps)
    if (map.begin.load(std::memory_order_acquire) == reinterpret_cast<std::uintptr_t>(data)) return &map;
  return nullptr;
}

}  // namespace

void watch_map(const void* data, std::size_t size) {
  static std::once_flag once;
  std::call_once(once, install);
  const std::scoped_lock lock(changes);
  for (WatchedMap& map : maps) {
    if (map.begin.load() != 0) continue;
    map.faults = false;
    map.end = reinterpret_cast<std::uintptr_t>(data) + size;
    map.begin = reinterpret_cast<std::uintptr_t>(data);
    return;
  }
}

void unwatch_map(const void* data) {
  const std::scoped_lock lock(changes);
  if (WatchedMap* map = find(data)) map->begin = 0;
}

bool map_has_faults(const void* data) {
  const WatchedMap* map = find(data);
  return map != nullptr && map->faults.load(std::memory_order_acquire);
}

}  // namespace kvscope
