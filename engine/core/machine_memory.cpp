// SPDX-License-Identifier: Apache-2.0
#include "core/machine_memory.h"

#include <unistd.h>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include <algorithm>
#include <fstream>
#include <limits>

namespace kvscope {

namespace {

/// A limit of a control group in bytes; none where the file is not there or says "max".
double limit_in(const char* path) {
  std::ifstream file(path);
  double bytes = 0;
  return file >> bytes && bytes > 0 ? bytes : std::numeric_limits<double>::infinity();
}

}  // namespace

double machine_memory() {
  const double pages = static_cast<double>(::sysconf(_SC_PHYS_PAGES)), page = static_cast<double>(::sysconf(_SC_PAGESIZE));
  return std::min({pages * page, limit_in("/sys/fs/cgroup/memory.max"), limit_in("/sys/fs/cgroup/memory/memory.limit_in_bytes")});
}

ProcessMemory process_memory() {
  ProcessMemory pages;
  std::ifstream file("/proc/self/statm");
  if (!(file >> pages.addresses >> pages.resident)) return {};
  const double page = static_cast<double>(::sysconf(_SC_PAGESIZE));
  return {pages.addresses * page, pages.resident * page};
}

void take_memory_in_large_pieces() {
#if defined(__GLIBC__)
  constexpr int kMiB = 1 << 20;
  ::mallopt(M_TOP_PAD, 64 * kMiB);  // as much as glibc's threads can have at a time: addresses only, until they are filled
  ::mallopt(M_TRIM_THRESHOLD, 256 * kMiB);
  ::mallopt(M_MMAP_THRESHOLD, 32 * kMiB);  // its largest: to set the others ends its own search for it
#endif
}

void give_back_memory() {
#if defined(__GLIBC__)
  ::malloc_trim(0);
#endif
}

void FreedMemory::give_back_if_much() {
#if defined(__GLIBC__) && defined(__GLIBC_PREREQ)
#if __GLIBC_PREREQ(2, 33)
  constexpr double kMuch = 64 << 20;
  const auto rest = [] {
    const struct mallinfo2 blocks = ::mallinfo2();
    return process_memory().resident - static_cast<double>(blocks.uordblks + blocks.hblkhd);
  };
  const double now = rest();
  const bool much = rest_ >= 0 && now > rest_ + kMuch;
  if (much) give_back_memory();
  rest_ = much ? rest() : rest_ < 0 ? now : std::min(rest_, now);
#endif
#endif
}

}  // namespace kvscope
