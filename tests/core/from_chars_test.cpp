// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <random>
#include <string>

#include "core/from_chars.h"

namespace kvscope {
namespace {

struct Read {
  double value = 7;
  std::ptrdiff_t length = 0;
  std::errc error{};
};

Read read(const std::string& text) {
  Read r;
  const auto [stop, error] = read_double(text.data(), text.data() + text.size(), r.value);
  return {r.value, stop - text.data(), error};
}

TEST(FromChars, ReadsANumberAsFarAsItGoes) {
  struct Case {
    const char* text;
    double value;
    int length;
  };
  for (const Case& c : {Case{"0.25", 0.25, 4}, Case{"-3", -3, 2}, Case{".5x", 0.5, 2}, Case{"5.", 5, 2}, Case{"1e3", 1000, 3},
                        Case{"1e+", 1, 1}, Case{"1e", 1, 1}, Case{"2E-2,", 0.02, 4}, Case{"1.2.3", 1.2, 3}, Case{"0x10", 0, 1},
                        Case{"-0", -0.0, 2}, Case{"inf", INFINITY, 3}, Case{"-INFINITYx", -INFINITY, 9}}) {
    const Read r = read(c.text);
    EXPECT_EQ(r.error, std::errc()) << c.text;
    EXPECT_EQ(std::bit_cast<std::uint64_t>(r.value), std::bit_cast<std::uint64_t>(c.value)) << c.text;
    EXPECT_EQ(r.length, c.length) << c.text;
  }
  EXPECT_TRUE(std::isnan(read("nan").value));
}

TEST(FromChars, LeavesTheValueAloneWhereThereIsNone) {
  for (const char* text : {"", " 1", "+1", "-", ".", "e5", "-.e1", "x", "--1", "in"}) {
    const Read r = read(text);
    EXPECT_EQ(r.error, std::errc::invalid_argument) << text;
    EXPECT_EQ(r.length, 0) << text;
    EXPECT_EQ(r.value, 7) << text;
  }
  for (const char* text : {"1e999", "-1e999", "1e-999"}) {
    EXPECT_EQ(read(text).error, std::errc::result_out_of_range) << text;
    EXPECT_EQ(read(text).value, 7) << text;
  }
}

TEST(FromChars, GivesBackEveryBitThatWasWritten) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 20000; ++i) {
    const auto bits = random();
    const double x = std::bit_cast<double>(bits);
    if (!std::isfinite(x)) continue;
    char text[40];
    std::snprintf(text, sizeof text, "%.17g", x);
    EXPECT_EQ(std::bit_cast<std::uint64_t>(read(text).value), bits) << text;
#if defined(__cpp_lib_to_chars)
    double standard = 0;
    std::from_chars(text, text + std::string(text).size(), standard);
    EXPECT_EQ(std::bit_cast<std::uint64_t>(read(text).value), std::bit_cast<std::uint64_t>(standard)) << text;
#endif
  }
}

}  // namespace
}  // namespace kvscope
