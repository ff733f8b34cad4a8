// SPDX-License-Identifier: Apache-2.0
#include "io/json_cursor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cmath>
#include <string>

#include "core/error.h"
#include "io/temp_folder.h"

namespace kvscope {
namespace {

using test::message_of;
using testing::HasSubstr;

std::string why_refused(const std::string& text, const JsonLimits& limits = kJsonLimits) {
  return message_of<Error>([&] { JsonDocument::parse(text, "f.json", limits); });
}

TEST(Json, SaysWhereTheTextStopsBeingJson) {
  const JsonDocument good = JsonDocument::parse("{\"a\": [1, 2]}", "f");
  EXPECT_EQ(JsonCursor(good).at("a").at(std::size_t(1)).whole(0, 9), 2);
  EXPECT_THAT(why_refused("{\"a\": }"), HasSubstr("f.json: expected JSON, got something else at byte 7 of 7"));
  EXPECT_THAT(why_refused(""), HasSubstr("f.json: expected JSON"));
  EXPECT_THAT(why_refused("\"\xff\""), HasSubstr("expected JSON"));
  EXPECT_THAT(why_refused("[1e999]"), HasSubstr("range of a double"));
  EXPECT_THAT(why_refused("1 2"), HasSubstr("expected JSON"));
  using namespace std::string_literals;
  EXPECT_THAT(why_refused("[1]\0junk"s), HasSubstr("f.json: expected JSON, got something else at byte 4 of 8"));
  EXPECT_THAT(why_refused("[1]\n\0"s), HasSubstr("at byte 5 of 5"));
  EXPECT_THAT(why_refused("{\"a\0\": 1}"s), HasSubstr("at byte 4 of"));
}

TEST(Json, GivesNoNumberThatAFloatCannotHold) {
  const JsonDocument document = JsonDocument::parse("[3.4e38, 3.5e38, -1e308, null, 18446744073709551615]", "f");
  const JsonCursor list(document);
  EXPECT_EQ(list.at(std::size_t(0)).real(), 3.4e38);
  for (const std::size_t i : {1, 2})
    EXPECT_THAT(message_of<Error>([&] { (void)list.at(i).real_or_null(); }), HasSubstr("expected a number that 32 bits can hold"));
  EXPECT_TRUE(std::isnan(list.at(std::size_t(3)).real_or_null()));
  EXPECT_GT(list.at(std::size_t(4)).real(), 1.8e19);
}

TEST(Json, RefusesDepthBeyond64AndSurvivesAMillion) {
  EXPECT_NO_THROW(JsonDocument::parse(std::string(64, '[') + std::string(64, ']'), "f"));
  EXPECT_THAT(why_refused(std::string(65, '[') + std::string(65, ']')), HasSubstr("at most 64 levels, got one that is nested deeper"));
  EXPECT_THAT(why_refused(std::string(1'000'000, '[')), HasSubstr("at most 64 levels, got one that is nested deeper"));
}

TEST(Json, RefusesMoreValuesAndBytesThanItsLimits) {
  EXPECT_NO_THROW(JsonDocument::parse("[{\"a\":1},[]]", "f", {100, 5}));
  EXPECT_THAT(why_refused("[{\"a\":1},[]]", {100, 4}), HasSubstr("at most 4 values"));
  EXPECT_THAT(why_refused("[1, 2, 3]", {8, 100}), HasSubstr("at most 8 bytes, got 9"));
}

TEST(Json, SixtyFourMegabytesOfEmptyListsTakeLittleMemory) {
  std::string text = "[";
  for (std::size_t i = 0; i < (std::size_t(64) << 20) / 3 - 1; ++i) text += "[],";
  text += "1]";
  struct rusage before {
  }, after{};
  ::getrusage(RUSAGE_SELF, &before);
  EXPECT_THAT(why_refused(text), HasSubstr("values"));
  ::getrusage(RUSAGE_SELF, &after);
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer's memory is not the program's";
#endif
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 200 << 10) << "kB";
}

TEST(Json, TellsEveryKindOfValueAndWhereItStands) {
  const JsonDocument document = JsonDocument::parse(
      R"({"n": null, "yes": true, "minus": -3, "huge": 18446744073709551615, "half": 0.5, "text": "a\u00e9\n", "list": [1, [2]], "in": {"b": 1, "a": 2, "b": 3}})",
      "f");
  const JsonCursor root(document);
  EXPECT_TRUE(root.has("n") && !root.given("n") && !root.has("none"));
  EXPECT_TRUE(root.at("yes").flag());
  EXPECT_EQ(root.at("minus").whole(-5, 5), -3);
  EXPECT_EQ(root.at("huge").unsigned_whole(), 18446744073709551615u);
  EXPECT_EQ(root.at("half").real(), 0.5);
  EXPECT_EQ(root.at("text").text(), "a\xc3\xa9\n");
  EXPECT_EQ(root.at("in").n_members(), 2u) << "a name that is given twice is one member";
  EXPECT_EQ(root.at("in").at("b").whole(0, 9), 3);
  EXPECT_EQ(root.at("in").member_name(0), "a");
  EXPECT_EQ(root.at("in").written(), R"({"a":2,"b":3})");
  EXPECT_EQ(root.at("list").written(), "[1,[2]]");
  EXPECT_THAT(message_of<Error>([&] { root.at("list").at(std::size_t(1)).at(std::size_t(0)).text(); }),
              HasSubstr("f: list[1][0]: expected a text, got 2"));
  EXPECT_THAT(message_of<Error>([&] { root.at("huge").whole(0, 9); }),
              HasSubstr("f: huge: expected a whole number in 0..9, got 18446744073709551615"));
  EXPECT_THAT(message_of<Error>([&] { root.at("in").at("c"); }), HasSubstr("f: in: the key 'c' is missing"));
}

}  // namespace
}  // namespace kvscope
