// SPDX-License-Identifier: Apache-2.0
#include "io/confined.h"

#include <csignal>
#include <stdexcept>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/temp_folder.h"

namespace kvscope {
namespace {

using test::message_of;
using ::testing::HasSubstr;

TEST(Confined, BringsTheTextBackAndChangesNothingHere) {
  int here = 1;
  const std::string text(3 << 20, 'x');
  EXPECT_EQ(confined([&] {
              here = 2;
              return text;
            }),
            text);
  EXPECT_EQ(here, 1);
  EXPECT_EQ(confined([] { return std::string(); }), "");
}

TEST(Confined, ThrowsWhatTheWorkThrew) {
  EXPECT_EQ(message_of<Error>([] { confined([]() -> std::string { throw std::runtime_error("no such word"); }); }), "no such word");
}

TEST(Confined, SaysWhatWasTooMuch) {
  EXPECT_THAT(message_of<Confined>([] {
                confined(
                    []() -> std::string {
                      for (volatile int turns = 0;;) turns = turns + 1;
                    },
                    {.processor_s = 1});
              }),
              HasSubstr("more than 1 s of processor time"));
  EXPECT_THAT(message_of<Confined>([] { confined([] { return std::string(100, 'x'); }, {.text_bytes = 10}); }),
              HasSubstr("its text has 100 bytes; expected at most 10"));
  EXPECT_THAT(message_of<Confined>([] {
                confined([]() -> std::string {
                  ::raise(SIGSEGV);
                  return {};
                });
              }),
              HasSubstr("it brings its reader down"));
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // their own allocators end the copy by their own words
  EXPECT_THAT(message_of<Confined>([] { confined([] { return std::string(std::size_t{1} << 30, 'x'); }); }),
              HasSubstr("more than 256 MiB of memory"));
#endif
}

}  // namespace
}  // namespace kvscope
