// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>
#include <functional>
#include <new>
#include <string>

#include "core/error.h"
#include "reliability/faults.h"

namespace kvscope::testing {

/// Open descriptors of this program.
inline long n_descriptors() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), std::filesystem::directory_iterator());
}

/// Does `work` again and again; each time one call more of this kind gets through before one fails, until none fails any more. Whatever
/// fails must end in an Error that is a sentence, or (memory) in std::bad_alloc, hold no memory and no descriptor, and leave what `intact`
/// looks at. Returns how many calls failed.
inline long each_fault(
    Fault what, int error, const std::function<void()>& work, const std::function<void()>& intact = [] {}) {
  work();  // what is made once and kept is made here, and what a thread keeps from its first exception on
  try {
    throw std::bad_alloc();
  } catch (const std::bad_alloc&) {
  }
  const long long bytes = allocated_bytes();
  const long descriptors = n_descriptors();
  for (long nth = 1;; ++nth) {
    bool failed = false;
    const auto expect_cause = [&](bool fits, const char* said) {
      failed = stop_failing();
      EXPECT_TRUE(failed && fits) << "call " << nth << ": " << said;
    };
    fail_call(what, nth, error);
    try {
      work();
      failed = stop_failing();
    } catch (const std::bad_alloc& e) {
      expect_cause(what == Fault::allocation, e.what());
    } catch (const Error& e) {
      expect_cause(std::string(e.what()).find(' ') != std::string::npos, e.what());
    } catch (const std::exception& e) {
      expect_cause(false, e.what());
    }
    EXPECT_EQ(allocated_bytes(), bytes) << "call " << nth << " of kind " << static_cast<int>(what);
    EXPECT_EQ(n_descriptors(), descriptors) << "call " << nth;
    intact();
    if (!failed || ::testing::Test::HasFailure()) return nth - 1;
  }
}

}  // namespace kvscope::testing
