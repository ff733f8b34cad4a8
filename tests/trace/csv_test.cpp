// SPDX-License-Identifier: Apache-2.0
#include "trace/csv.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace kvscope {
namespace {

TEST(Csv, QuotesOnlyCellsThatNeedIt) {
  EXPECT_EQ(csv_line(std::vector<std::string>{"a", "", "1.5"}), "a,,1.5\n");
  EXPECT_EQ(csv_line(std::vector<std::string>{"x:a=1,b=2", "say \"hi\"", "two\nlines"}),
            "\"x:a=1,b=2\",\"say \"\"hi\"\"\",\"two\nlines\"\n");
}

}  // namespace
}  // namespace kvscope
