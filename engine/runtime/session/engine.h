// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "runtime/model/devices.h"
#include "runtime/session/run_request.h"

namespace kvscope {

/// Where an engine computes, and how it is to be reached now.
struct EngineLink {
  std::string place;      // "exec:…", "ssh:…"; empty: in this process
  bool connected = true;  // false: not yet, or not any more
  std::string problem;    // why not, one sentence; empty: it is being connected, or it is
  double step_ms = -1;    // what the line added to the newest picture, beside the engine's own time; -1: nothing came yet
  double bytes = 0;       // that came so far
};

/// What computes runs for a window. Requests supersede each other: a newer one cancels what runs at the next layer boundary and replaces
/// what waits. Results go through a Mailbox; failures are snapshots, too.
class Engine {
 public:
  Engine() = default;
  virtual ~Engine() = default;  // cancels and waits
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// Loads another model; the last request is run again on it. Returns the generation.
  virtual std::uint64_t load_model(std::string folder, SessionOptions options) = 0;
  /// Supersedes every earlier request. Returns the generation that its snapshots carry.
  virtual std::uint64_t submit(RunRequest request) = 0;
  /// Ends what runs now and keeps what was finished.
  virtual void stop() = 0;
  virtual EngineLink link() const { return {}; }
};

}  // namespace kvscope
