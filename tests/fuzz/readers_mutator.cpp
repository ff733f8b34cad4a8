// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>

#include "fuzz/readers_target.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

/// libFuzzer's hook. The seeds of a list of readers stand in its source and not in a folder: now and then an input begins anew with one.
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size, unsigned int seed) {
  using namespace kvscope::testing;
  constexpr unsigned kNowAndThen = 32;
  std::minstd_rand random(seed);
  if (size < 2 || random() % kNowAndThen == 0) {
    const std::size_t reader = random() % readers().size();
    const std::vector<std::string> seeds = readers()[reader].seeds();
    const std::string input = static_cast<char>(reader) + seeds[random() % seeds.size()];
    size = std::min(input.size(), max_size);
    std::copy_n(input.begin(), size, data);
  }
  return LLVMFuzzerMutate(data, size, max_size);
}
