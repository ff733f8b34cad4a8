// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/cancel.h"
#include "runtime/session/session.h"
#include "snapshot/load_stage.h"

namespace kvscope {

/// Follows the opening of a model through its stages and ends it where its owner wants that.
class LoadWatch {
 public:
  enum Stage : std::size_t { read_header, map_weights, build, warm_up };
  using Report = std::function<void(const std::vector<LoadStage>&)>;

  /// `cancel` outlives this. report: at each stage's beginning and, while bytes are counted, about twenty times a second.
  LoadWatch(const CancelToken& cancel, Report report);

  /// Ends the stage before. of_bytes 0: the stage is not a matter of bytes. Throws Cancelled.
  void begin(Stage stage, double of_bytes = 0);
  /// Throws Cancelled.
  void add(double bytes);
  const CancelToken& cancel() const { return cancel_; }

 private:
  using Clock = std::chrono::steady_clock;
  void report();

  const CancelToken& cancel_;
  Report report_;
  std::vector<LoadStage> stages_;
  std::size_t now_ = 0;
  Clock::time_point began_, reported_;
};

/// Opens a model folder as Session does, in stages: its files are read and checked, its weights brought into memory, taken over by the
/// device, and run once on one token, so that the first run does not wait for any of it.
/// Throws Error (files, device, memory), UsageError (options), Cancelled.
std::unique_ptr<Session> load_session(const std::string& folder, const SessionOptions& options, LoadWatch& watch);

}  // namespace kvscope
