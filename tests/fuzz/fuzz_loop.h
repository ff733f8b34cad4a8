// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "core/error.h"

/// libFuzzer's entry point, of the target that the test is about.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace kvscope::testing {

inline void feed(const std::string& bytes) { LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()); }

/// Every stride-th beginning of the seeds, up to so many bytes.
inline void feed_prefixes(const std::vector<std::string>& seeds, std::size_t stride = 1, std::size_t most = std::size_t{1} << 20) {
  for (const std::string& seed : seeds)
    for (std::size_t length = 0; length <= std::min(seed.size(), most); length += stride) feed(seed.substr(0, length));
}

struct Tally {
  int accepted = 0, refused = 0;
};

/// Feeds n random changes of the seeds, always the same, and counts what read() takes of them. KVSCOPE_FUZZ_SECONDS: afterwards others for
/// that long, by KVSCOPE_FUZZ_SEED, and says how many: what tests/fuzz/run plays.
template <class Change, class Read>
Tally feed_changes(const std::vector<std::string>& seeds, int n, const Change& change, const Read& read) {
  Tally tally;
  std::mt19937 random(1);
  for (int i = 0; i < n; ++i) {
    const std::string bytes = change(seeds[static_cast<std::size_t>(i) % seeds.size()], random);
    feed(bytes);
    try {
      read(bytes);
      ++tally.accepted;
    } catch (const Error&) {
      ++tally.refused;
    }
  }
  const char *seconds = std::getenv("KVSCOPE_FUZZ_SECONDS"), *seed = std::getenv("KVSCOPE_FUZZ_SEED");
  if (!seconds) return tally;
  random.seed(seed ? static_cast<unsigned>(std::atol(seed)) : 2u);
  const auto begin = std::chrono::steady_clock::now();
  const std::chrono::duration<double> length(std::atof(seconds));
  long fed = 0;
  for (; std::chrono::steady_clock::now() - begin < length; ++fed) feed(change(seeds[random() % seeds.size()], random));
  std::printf("fed %ld in %.1f s\n", fed, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  return tally;
}

}  // namespace kvscope::testing
