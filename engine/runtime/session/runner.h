// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "runtime/session/engine.h"
#include "runtime/session/run_request.h"
#include "runtime/session/session.h"
#include "snapshot/snapshot.h"

namespace kvscope {

/// The engine of this process, a thread. `on_snapshot` is called on it after each put. Exceptions become failure snapshots.
class Runner : public Engine {
 public:
  /// Generations begin after `generation`.
  Runner(Mailbox& mailbox, std::function<void()> on_snapshot, std::uint64_t generation = 0);
  ~Runner() override;  // cancels and joins

  std::uint64_t load_model(std::string folder, SessionOptions options) override;
  std::uint64_t submit(RunRequest request) override;
  void stop() override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kvscope
