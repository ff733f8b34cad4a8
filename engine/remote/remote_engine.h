// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "remote/address.h"
#include "runtime/session/engine.h"
#include "snapshot/snapshot.h"

namespace kvscope::remote {

struct EngineOptions {
  std::string version;                        // of this program: the engine's must be the same
  std::string own_model;                      // the folder here that stands for the engine's own model
  std::size_t record_limit = 0;               // bytes that the records may fill here; 0: as of a session
  std::uint64_t generation = 0;               // generations begin after it
  std::chrono::milliseconds patience{30000};  // for its first words: an engine says at once that it opens a model
};

/// An engine in a process of its own: `kvscope-cli serve --stdio`, here or through ssh. It is started by the first command. When the line
/// breaks, the newest result stays and a failure snapshot says why; it is tried again after a while, longer each time, and at once by the
/// next command; then model and request are sent again.
class RemoteEngine : public Engine {
 public:
  RemoteEngine(const Address& address, EngineOptions options, Mailbox& mailbox, std::function<void()> on_snapshot);
  ~RemoteEngine() override;  // ends the process

  std::uint64_t load_model(std::string folder, SessionOptions options) override;
  std::uint64_t submit(RunRequest request) override;
  void stop() override;
  EngineLink link() const override;
  /// Of the process that serves now; -1: there is none.
  int process_id() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kvscope::remote
