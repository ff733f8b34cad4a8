// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

namespace kvscope {

/// Adds the time from its making to its end to a sum, in ms.
class Stopwatch {
 public:
  explicit Stopwatch(double& ms) : ms_(ms) {}
  ~Stopwatch() { ms_ += std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start_).count(); }

 private:
  double& ms_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace kvscope
