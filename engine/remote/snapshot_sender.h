// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "remote/channel.h"
#include "snapshot/snapshot.h"

namespace kvscope::remote {

/// Sends snapshots as what is new in them. A step that was sent is named by its number from then on, as long as the newest snapshot has it.
/// The numbers by slot and token follow in pieces, newest step first, and wait while there is something newer to show.
class SnapshotSender {
 public:
  using Send = std::function<void(Kind, const std::string&)>;
  explicit SnapshotSender(Send send) : send_(std::move(send)) {}

  /// What the pictures need. since_request_us: from the request that it answers to now.
  void show(const SnapshotPtr& snapshot, std::int64_t since_request_us);
  /// One piece of the numbers that the shown snapshot has besides. False: all are there, and that was said.
  bool send_numbers();

 private:
  struct Sent {
    StepPtr step;  // kept: its address is its name, and nobody changes what somebody else holds
    std::uint64_t id = 0;
    std::size_t n_numbers = 0;  // heads whose numbers are there
  };
  void send_step(const StepPtr& step, const Sent* before);

  Send send_;
  SnapshotPtr last_;
  std::map<const StepRecord*, Sent> sent_;
  std::uint64_t last_id_ = 0;
  bool complete_ = true;
};

}  // namespace kvscope::remote
