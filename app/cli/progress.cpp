// SPDX-License-Identifier: Apache-2.0
#include "app/cli/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include <fmt/core.h>

namespace kvscope::cli {

namespace {

int terminal_columns() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

std::string duration(double seconds) {
  const long long s = std::llround(seconds);
  if (s < 60) return fmt::format("{} s", s);
  if (s < 3600) return fmt::format("{} min {:02} s", s / 60, s % 60);
  return fmt::format("{} h {:02} min", s / 3600, s / 60 % 60);
}

}  // namespace

std::string progress_line(double fraction, double elapsed_s, const std::string& activity, int columns) {
  constexpr int kWidth = 20;
  fraction = std::clamp(fraction, 0.0, 1.0);
  const int full = static_cast<int>(fraction * kWidth);
  std::string line =
      fmt::format("[{:<{}}] {:3} %", std::string(static_cast<std::size_t>(full), '#'), kWidth, static_cast<int>(fraction * 100));
  if (fraction > 0) line += fmt::format("  ETA {}", duration(elapsed_s * (1 - fraction) / fraction));
  line += "  " + activity;
  return line.substr(0, static_cast<std::size_t>(std::max(columns - 1, 1)));
}

Progress::Progress(bool quiet) : on_(!quiet && isatty(STDERR_FILENO) == 1), start_(Clock::now()), last_(start_) {}

Progress::~Progress() {
  if (drawn_) std::fputs("\r\x1b[K", stderr);
}

void Progress::show(const std::string& activity, double fraction) {
  if (!on_) return;
  const auto now = Clock::now();
  if (now - last_ < std::chrono::milliseconds(100)) return;
  last_ = now;
  drawn_ = true;
  const double elapsed = std::chrono::duration<double>(now - start_).count();
  std::fprintf(stderr, "\r%s\x1b[K", progress_line(fraction, elapsed, activity, terminal_columns()).c_str());
  std::fflush(stderr);
}

}  // namespace kvscope::cli
