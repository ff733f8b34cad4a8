// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <iostream>
#include <string>

namespace kvscope::test {

/// How near a proven bound came to being reached: printed, and kept in the test's report.
inline void report_margin(const std::string& what, double value) {
  std::cout << what << ": " << value << "\n";
  std::string key = what;
  for (char& c : key) c = c == ' ' || c == ',' ? '_' : c;
  testing::Test::RecordProperty(key, std::to_string(value));
}

}  // namespace kvscope::test
