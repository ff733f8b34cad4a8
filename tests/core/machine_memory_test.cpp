// SPDX-License-Identifier: Apache-2.0
#include "core/machine_memory.h"

#include <unistd.h>

#include <gtest/gtest.h>

#include <cstddef>
#include <fstream>
#include <memory>
#include <thread>
#include <vector>

namespace kvscope {
namespace {

double resident() {
  std::ifstream file("/proc/self/statm");
  double pages = 0, in_memory = 0;
  file >> pages >> in_memory;
  return in_memory * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

#if !defined(__GLIBC__) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kOther = true;
#else
constexpr bool kOther = false;
#endif
constexpr double kFreed = 160e6;

/// What the allocator keeps of a thread's freed blocks, because a later one is still in use. What the process held with all of them.
double free_much(std::unique_ptr<std::vector<char>>& in_use) {
  constexpr std::size_t kBytes = 16 * 1024;
  double full = 0;
  std::thread([&] {
    std::vector<std::unique_ptr<std::vector<char>>> blocks;
    while (static_cast<double>(blocks.size() * kBytes) < kFreed) blocks.push_back(std::make_unique<std::vector<char>>(kBytes, 'x'));
    in_use = std::move(blocks.back());
    full = resident();
  }).join();
  return full;
}

TEST(MachineMemory, GetsBackWhatWasFreed) {
  if (kOther) GTEST_SKIP() << "another allocator";
  std::unique_ptr<std::vector<char>> in_use;
  const double full = free_much(in_use), before = resident();
  EXPECT_GT(before, full - 0.2 * kFreed) << "nothing is to be given back";
  give_back_memory();
  EXPECT_LT(resident(), before - 0.7 * kFreed);
}

TEST(MachineMemory, GetsBackWhatWasFreedSinceTheTimeBeforeWhereThatIsMuch) {
  if (kOther) GTEST_SKIP() << "another allocator";
  FreedMemory freed;
  freed.give_back_if_much();  // from here on
  std::unique_ptr<std::vector<char>> in_use;
  free_much(in_use);
  const double before = resident();
  freed.give_back_if_much();
  EXPECT_LT(resident(), before - 0.7 * kFreed);
  free_much(in_use);
  freed.give_back_if_much();
  EXPECT_LT(resident(), before - 0.7 * kFreed) << "each time";
}

}  // namespace
}  // namespace kvscope
