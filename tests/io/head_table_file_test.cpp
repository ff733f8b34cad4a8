// SPDX-License-Identifier: Apache-2.0
#include "io/head_table_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "core/error.h"
#include "io/temp_folder.h"
#include "paths.h"

namespace kvscope {
namespace {

using testing::HasSubstr;

class HeadTableFile : public testing::Test {
 protected:
  HeadTable read(std::string_view text) { return read_head_table(folder_.write("f.json", text)); }
  std::string refusal(std::string_view text) {
    try {
      read(text);
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  }
  test::TempFolder folder_;
};

TEST_F(HeadTableFile, AListHasRowsAndAnObjectHasNames) {
  const HeadTable list = read("[[1, 2.5], 7, [null, \"2\", []]]");
  EXPECT_EQ(list.kind, HeadTable::Kind::list);
  ASSERT_EQ(list.rows.size(), 3u);
  EXPECT_EQ(list.rows[0], (std::vector<double>{1, 2.5}));
  EXPECT_EQ(list.rows[1], std::nullopt);
  ASSERT_EQ(list.rows[2]->size(), 3u);
  for (const double x : *list.rows[2]) EXPECT_TRUE(std::isnan(x));
  const HeadTable object = read(R"({"0-0": [3, 3], "0-1": [0.5, 1.5], "1-0": 4, "1-1": [], "2-0": [1, "x"]})");
  EXPECT_EQ(object.kind, HeadTable::Kind::object);
  EXPECT_EQ(object.entries.at("0-0"), 3) << "the mean, which is the published form";
  EXPECT_EQ(object.entries.at("0-1"), 1);
  EXPECT_EQ(object.entries.at("1-0"), 4);
  EXPECT_TRUE(std::isnan(object.entries.at("1-1")));
  EXPECT_TRUE(std::isnan(object.entries.at("2-0")));
  EXPECT_EQ(read("3").kind, HeadTable::Kind::neither);
}

/// Written by hand, mostly: which of the two numbers is meant is not to be guessed.
TEST_F(HeadTableFile, AHeadThatIsNamedTwiceIsRefused) {
  EXPECT_THAT(refusal(R"({"0-0": [3], "0-1": [1], "0-0": [4]})"), HasSubstr("every key of an object once, got \"0-0\" twice"));
}

TEST_F(HeadTableFile, WhatIsNoJsonOrTooMuchIsRefusedInOneLine) {
  const std::string deep(1 << 20, '[');
  std::string values = "[1";
  for (int i = 0; i < 1 << 20; ++i) values += ",1";
  for (const std::string& text : {std::string(), std::string("["), std::string("[[1, 1e999]]"), std::string("{\"0-0\": "), deep,
                                  values + "]", std::string((16 << 20) + 1, ' ')}) {
    const std::string sentence = refusal(text);
    EXPECT_THAT(sentence, HasSubstr("f.json"));
    EXPECT_EQ(sentence.find('\n'), std::string::npos);
  }
  EXPECT_THROW(read_head_table("/nowhere/f.json"), Error);
}

TEST(PublicHeads, HaveANumberForEveryHead) {
  int n_files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(in_checkout("assets/heads"))) {
    if (entry.path().extension() != ".json") continue;
    ++n_files;
    const HeadTable table = read_head_table(entry.path().string());
    ASSERT_EQ(table.kind, HeadTable::Kind::list) << entry.path();
    EXPECT_EQ(table.rows.size(), 32u) << entry.path();
    for (const auto& row : table.rows) {
      ASSERT_TRUE(row && row->size() == table.rows.front()->size()) << entry.path();
      for (const double x : *row) EXPECT_TRUE(x > -0.01 && x <= 1) << entry.path() << ": " << x;
    }
  }
  EXPECT_EQ(n_files, 6);
}

}  // namespace
}  // namespace kvscope
