// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>

namespace kvscope::cli {

inline constexpr const char* kMakingTexts = "a number is hidden in texts";

/// A progress line with percent and remaining time on stderr, where that is a terminal; silent elsewhere. Gone when destroyed.
class Progress {
 public:
  explicit Progress(bool quiet);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// fraction in [0, 1]; activity: "layer 3 of 6". Draws at most ten times a second.
  void show(const std::string& activity, double fraction);

 private:
  using Clock = std::chrono::steady_clock;

  bool on_ = false;
  bool drawn_ = false;
  Clock::time_point start_, last_;
};

/// The line itself: "[#####     ]  50 %  ETA 3 s  layer 3 of 6". Pure.
std::string progress_line(double fraction, double elapsed_s, const std::string& activity, int columns);

}  // namespace kvscope::cli
