// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "runtime/session/run_request.h"
#include "runtime/session/session.h"
#include "snapshot/snapshot.h"

namespace kvscope {

/// The engine thread. Requests supersede each other: a newer one cancels what runs at the next layer boundary and replaces what waits.
/// Results go through the mailbox; `on_snapshot` is called on the engine thread after each put. Exceptions become failure snapshots.
class Runner {
 public:
  Runner(Mailbox& mailbox, std::function<void()> on_snapshot);
  ~Runner();  // cancels and joins
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;

  /// Loads another model; the last request is run again on it. Returns the generation.
  std::uint64_t load_model(std::string folder, SessionOptions options);
  /// Supersedes every earlier request. Returns the generation that its snapshots carry.
  std::uint64_t submit(RunRequest request);
  /// Ends what runs now and keeps what was finished.
  void stop();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kvscope
