// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>

namespace kvscope {

/// A failure at a border (file, argument, device). The text is one line: what, where, expected, got, remedy; lower-case, no final stop.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Bad words from the user (command line, lane specification): the program leaves with status 2 instead of 1.
class UsageError : public Error {
 public:
  using Error::Error;
};

/// A newer request or the user has ended this work. Not a failure.
class Cancelled : public std::exception {
 public:
  const char* what() const noexcept override { return "cancelled"; }
};

}  // namespace kvscope

/// Our own mistakes only, never reachable from user input. Active in every build type.
#define KVSCOPE_ASSERT(condition)                                                            \
  do {                                                                                       \
    if (!(condition)) [[unlikely]] {                                                         \
      std::fprintf(stderr, "%s:%d: assertion failed: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                          \
    }                                                                                        \
  } while (false)
