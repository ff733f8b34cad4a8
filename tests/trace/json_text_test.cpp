// SPDX-License-Identifier: Apache-2.0
#include "trace/json_text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>

#include <nlohmann/json.hpp>

namespace kvscope {
namespace {

TEST(NumberText, WritesTheShortestDigitsThatReadBackToTheSameDouble) {
  EXPECT_EQ(number_text(0.0), "0.0");
  EXPECT_EQ(number_text(-0.0), "-0.0");
  EXPECT_EQ(number_text(1.0), "1.0");
  EXPECT_EQ(number_text(0.1), "0.1");
  EXPECT_EQ(number_text(1e-7), "1e-07");
  EXPECT_EQ(number_text(1.0 / 3.0), "0.3333333333333333");
  EXPECT_EQ(number_text(1e300), "1e+300");
  EXPECT_EQ(number_text(0.1f), "0.1");
}

TEST(NumberText, ReadsBackExactlyForRandomBitPatterns) {
  std::mt19937_64 random(7);
  int tried = 0;
  while (tried < 100000) {
    const double x = std::bit_cast<double>(random());
    if (!std::isfinite(x)) continue;
    ++tried;
    ASSERT_EQ(std::strtod(number_text(x).c_str(), nullptr), x);
  }
  for (const double x :
       {std::numeric_limits<double>::denorm_min(), std::numeric_limits<double>::max(), std::numeric_limits<double>::min()}) {
    EXPECT_EQ(std::strtod(number_text(x).c_str(), nullptr), x);
  }
}

TEST(StringText, EscapesWhatJsonMustEscapeAndReplacesBytesThatAreNotUtf8) {
  EXPECT_EQ(string_text("a\"b\\c\n\x01"), "\"a\\\"b\\\\c\\n\\u0001\"");
  EXPECT_EQ(string_text("caf\xC3\xA9"), "\"caf\xC3\xA9\"");
  EXPECT_EQ(string_text("caf\xC3"), "\"caf\xEF\xBF\xBD\"");
  EXPECT_EQ(string_text(std::string_view("\0", 1)), "\"\\u0000\"");
}

TEST(IsUtf8, AcceptsCodePointsOfEveryLengthAndRefusesEverythingElse) {
  for (const char* good : {"", "a", "\xC3\xA9", "\xE2\x82\xAC", "\xF0\x9F\x98\x80", "\xED\x9F\xBF", "\xF4\x8F\xBF\xBF"})
    EXPECT_TRUE(is_utf8(good)) << good;
  EXPECT_FALSE(is_utf8("\xC3"));              // cut short
  EXPECT_FALSE(is_utf8("\xA9"));              // continuation alone
  EXPECT_FALSE(is_utf8("\xC0\xAF"));          // overlong
  EXPECT_FALSE(is_utf8("\xE0\x80\x80"));      // overlong
  EXPECT_FALSE(is_utf8("\xF0\x80\x80\x80"));  // overlong
  EXPECT_FALSE(is_utf8("\xED\xA0\x80"));      // surrogate
  EXPECT_FALSE(is_utf8("\xF4\x90\x80\x80"));  // above U+10FFFF
  EXPECT_FALSE(is_utf8("\xFF"));
}

TEST(IsUtf8, AgreesWithTheJsonLibraryOnRandomBytes) {
  std::mt19937 random(3);
  for (int i = 0; i < 20000; ++i) {
    std::string bytes(1 + random() % 4, ' ');
    for (char& c : bytes) c = static_cast<char>(random() % 4 == 0 ? random() % 128 : 128 + random() % 128);
    bool library = true;
    try {
      (void)nlohmann::json(bytes).dump();
    } catch (const nlohmann::json::exception&) {
      library = false;
    }
    ASSERT_EQ(is_utf8(bytes), library) << nlohmann::json(bytes).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
  }
}

TEST(JsonText, PutsCommasBetweenElementsAndLinesWhereAsked) {
  JsonText j;
  j.begin_object().member("a", 1).key("b").begin_array().value(0.5).null().value(true).end_array().key("c").begin_array(/*lines=*/true);
  j.begin_object().end_object().begin_object().member("d", "x").end_object().end_array().member("e", 2).end_object();
  EXPECT_EQ(j.text(), "{\"a\":1,\"b\":[0.5,null,true],\"c\":[\n{},\n{\"d\":\"x\"}],\"e\":2}");
}

}  // namespace
}  // namespace kvscope
