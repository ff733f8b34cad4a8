// SPDX-License-Identifier: Apache-2.0
#include "app/share/packing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"

namespace kvscope::share {
namespace {

TEST(Packing, WritesBase64AsItsStandardDoes) {  // RFC 4648, test vectors
  const std::pair<const char*, const char*> examples[] = {
      {"", ""}, {"f", "Zg=="}, {"fo", "Zm8="}, {"foo", "Zm9v"}, {"foob", "Zm9vYg=="}, {"fooba", "Zm9vYmE="}, {"foobar", "Zm9vYmFy"}};
  for (const auto& [bytes, text] : examples) {
    EXPECT_EQ(base64(bytes), text);
    EXPECT_EQ(from_base64(text, "f"), bytes);
  }
}

TEST(Packing, BringsBackEveryByte) {
  std::string bytes;
  for (int i = 0; i < 1000; ++i) bytes += static_cast<char>(i * 7);
  for (std::size_t n = 0; n < 300; ++n) {
    const std::string_view part = std::string_view(bytes).substr(0, n);
    EXPECT_EQ(from_base64(base64(part), "f"), part);
    EXPECT_EQ(inflated(deflated(part), n, "f"), part);
  }
}

TEST(Packing, RefusesWhatIsDamaged) {
  for (const char* text : {"Zg=", "Zg", "Z*==", "Zg==Zg==", "===="}) EXPECT_THROW(from_base64(text, "f"), Error) << text;
  const std::string packed = deflated("the house number of Helen is 482");
  EXPECT_THROW(inflated(packed, 31, "f"), Error) << "shorter than said";
  EXPECT_THROW(inflated(packed, 33, "f"), Error) << "longer than said";
  EXPECT_THROW(inflated(packed, std::size_t(1) << 40, "f"), Error) << "no room is made for what cannot be";
  for (std::size_t n = 0; n < packed.size(); ++n) EXPECT_THROW(inflated(packed.substr(0, n), 32, "f"), Error) << "cut at " << n;
}

}  // namespace
}  // namespace kvscope::share
