// SPDX-License-Identifier: Apache-2.0
#include "core/failure.h"

#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

namespace kvscope {
namespace {

TEST(Failure, SaysWhatEndedMemoryCannotSayItself) {
  EXPECT_NE(std::string(words_of(std::bad_alloc())).find("too little memory"), std::string::npos);
  // as std::thread says it where the C library finds no memory for the thread
  const std::system_error thread(std::make_error_code(std::errc::resource_unavailable_try_again));
  EXPECT_NE(std::string(words_of(thread)).find("too little memory"), std::string::npos);
  EXPECT_STREQ(words_of(std::runtime_error("its own words")), "its own words");
  const std::system_error other(std::make_error_code(std::errc::no_space_on_device));
  EXPECT_STREQ(words_of(other), other.what());
}

}  // namespace
}  // namespace kvscope
