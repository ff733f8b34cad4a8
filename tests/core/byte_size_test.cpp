// SPDX-License-Identifier: Apache-2.0
#include "core/byte_size.h"

#include <gtest/gtest.h>

namespace kvscope {
namespace {

TEST(ByteSize, ReadsUnitsOf1024) {
  EXPECT_EQ(parse_size("1048576"), 1048576u);
  EXPECT_EQ(parse_size("2G"), std::size_t{2} << 30);
  EXPECT_EQ(parse_size("1.5GiB"), std::size_t{3} << 29);
  EXPECT_EQ(parse_size("800 MB"), std::size_t{800} << 20);
  EXPECT_EQ(parse_size("4k"), 4096u);
  EXPECT_EQ(parse_size("7B"), 7u);
}

TEST(ByteSize, RefusesWhatIsNoSize) {
  for (const char* text : {"", "G", "-1G", "1e9", "1.2.3M", "2X", "2GX", "0", "0.5", "2 G B", "99999999999999999999"})
    EXPECT_FALSE(parse_size(text)) << text;
}

TEST(ByteSize, WritesThemShort) {
  EXPECT_EQ(size_text(0), "0 B");
  EXPECT_EQ(size_text(1023), "1023 B");
  EXPECT_EQ(size_text(2147483648.0), "2.0 GiB");
  EXPECT_EQ(size_text(1024.0 * 1024 * 312), "312 MiB");
  EXPECT_EQ(size_text(1023.9 * 1024 * 1024), "1.0 GiB");
}

}  // namespace
}  // namespace kvscope
