// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/cancel.h"

namespace kvscope::cli {

/// While one lives, Ctrl+C (SIGINT) and SIGTERM cancel its token. Work that does not look at the token in time (a model being mapped,
/// a prompt being tokenised) is ended by leaving the program, 0.15 s after the signal; while a Critical section lives only after a second
/// one. At most one at a time: signals belong to the process.
class Interrupt {
 public:
  static constexpr int kExitStatus = 130;

  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  const CancelToken& token() const { return token_; }

  /// Lives while a file is being written and renamed: the program is not left then.
  class Critical {
   public:
    Critical();
    ~Critical();
    Critical(const Critical&) = delete;
    Critical& operator=(const Critical&) = delete;
  };

 private:
  CancelToken token_;
};

}  // namespace kvscope::cli
