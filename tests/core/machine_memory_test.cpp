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

/// What the allocator keeps of a thread's freed blocks, because a later one is still in use.
TEST(MachineMemory, GetsBackWhatWasFreed) {
#if !defined(__GLIBC__) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "another allocator";
#endif
  constexpr std::size_t kBlocks = 3000, kBytes = 16 * 1024;
  std::unique_ptr<std::vector<char>> in_use;
  double full = 0;
  std::thread([&] {
    std::vector<std::unique_ptr<std::vector<char>>> blocks;
    for (std::size_t i = 0; i < kBlocks; ++i) blocks.push_back(std::make_unique<std::vector<char>>(kBytes, 'x'));
    in_use = std::move(blocks.back());
    full = resident();
  }).join();
  const double before = resident();
  EXPECT_GT(before, full - 0.2 * kBlocks * kBytes) << "nothing is to be given back";
  give_back_memory();
  EXPECT_LT(resident(), before - 0.7 * kBlocks * kBytes);
}

}  // namespace
}  // namespace kvscope
