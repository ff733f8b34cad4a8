// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "remote/channel.h"
#include "snapshot/snapshot.h"

namespace kvscope::remote {

/// Puts together what SnapshotSender has taken apart. What comes is checked before it is shown: views read by it as by their own.
class SnapshotReceiver {
 public:
  /// most: bytes of memory that the records may fill.
  explicit SnapshotReceiver(std::size_t most) : most_(most) {}

  /// One message. Throws Error on what cannot be.
  void take(const Message& message);

  /// The newest snapshot as far as it is here; null: none has come. Numbers that are still on the way are not available in it.
  std::shared_ptr<Snapshot> snapshot();
  /// Microseconds from the request to the sending of the newest snapshot, by the clock there.
  std::int64_t since_request_us() const { return since_request_us_; }
  /// All numbers of the newest snapshot are here.
  bool complete() const { return complete_; }
  /// Which share of them is.
  double share() const;

 private:
  struct Step {
    std::shared_ptr<StepRecord> record;
    bool shown = false;                         // somebody reads it: what comes goes into a copy
    std::uint64_t origin = 0;                   // number of the step whose heads these are
    std::size_t n_outlines = 0, n_numbers = 0;  // heads that are there
    std::size_t filled = 0;                     // bytes of memory
  };
  struct Lane {
    std::vector<std::uint64_t> steps, origins;
    std::shared_ptr<const LaneFates> fates;
  };

  Step& step_of(std::uint64_t id);
  StepRecord& writable(Step& step);
  std::size_t room() const;
  void take_step(const std::string& bytes);
  void take_heads(const Message& message);
  void take_snapshot(const std::string& bytes);
  void take_lane(LaneSnapshot& lane, Lane& known);

  std::size_t most_, filled_ = 0;
  std::map<std::uint64_t, Step> steps_;
  std::vector<Lane> lanes_;
  std::shared_ptr<Snapshot> facts_;  // without steps
  std::int64_t since_request_us_ = 0;
  bool complete_ = false;
};

}  // namespace kvscope::remote
