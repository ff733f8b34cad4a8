// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <sys/types.h>

#include "io/pipe.h"

namespace kvscope::remote {

/// A program with its three streams. When this goes its input ends; a program that is still there a moment later is killed.
class Child {
 public:
  /// Looks in PATH for a name without a slash. Throws Error (the program, why not).
  explicit Child(const std::vector<std::string>& command);
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  int input() const { return in_.write.get(); }
  int output() const { return out_.read.get(); }
  pid_t id() const { return id_; }
  void end_input() { in_.write.close(); }
  /// Takes what is in its error stream, so that it never waits for a reader.
  void listen();
  /// The last line that it has written to its error stream so far, or how it ended; empty: neither.
  std::string last_words();

 private:
  bool wait_for_end(int ms);

  Pipe in_, out_, errors_;
  pid_t id_ = -1;
  bool ended_ = false;
  int status_ = 0;
  std::string words_;
};

}  // namespace kvscope::remote
