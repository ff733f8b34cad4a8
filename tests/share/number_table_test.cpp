// SPDX-License-Identifier: Apache-2.0
#include "app/share/number_table.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "snapshot/number_text.h"
#include "snapshot/step_record.h"

namespace kvscope::share {
namespace {

TEST(NumberTable, HoldsTheTextsThatTheWindowShows) {
  NumberTable table;
  for (const double v : {0.0, 1e-7, 0.0336, 729.4, -3.5, 12345.6}) EXPECT_EQ(table.texts()[table.number(v)], format_number(v));
  for (const double v : {0.0003, 0.251, 1.0}) EXPECT_EQ(table.texts()[table.percent(v)], format_percent(v));
  EXPECT_EQ(table.number(0.03361), table.number(0.03362)) << "the same text";
}

TEST(NumberTable, NotAvailableIsPlaceZeroAndNoNumber) {
  NumberTable table;
  EXPECT_EQ(table.number(kNotAvailable), 0u);
  EXPECT_EQ(table.percent(kNotAvailable), 0u);
  EXPECT_NE(table.number(0), 0u);
  EXPECT_EQ(table.texts()[0], "n/a");
  EXPECT_TRUE(std::isnan(table.values()[0]));
}

TEST(NumberTable, SortingMovesEveryNumberToWhereItSays) {
  NumberTable table;
  std::vector<std::pair<std::uint32_t, std::string>> before;
  for (const double v : {5.0, -2.0, 0.5, std::numeric_limits<double>::infinity(), 1e-9, 0.0})
    before.emplace_back(table.number(v), format_number(v));
  const std::vector<std::uint32_t> moved = table.sort();
  EXPECT_EQ(moved[0], 0u);
  for (const auto& [old, text] : before) EXPECT_EQ(table.texts()[moved[old]], text);
  for (std::size_t i = 2; i < table.values().size(); ++i) EXPECT_LE(table.values()[i - 1], table.values()[i]);
  EXPECT_EQ(table.texts()[table.number(0.5)], "0.500") << "asked again after sorting";
}

}  // namespace
}  // namespace kvscope::share
