// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "viz/reduce/compare.h"
#include "viz/views/compare/compare_difference.h"

namespace kvscope::viz {

/// Numbers of every run; computed anew only when the runs, their shown steps or the range of steps changed.
class RunMetrics {
 public:
  const std::vector<LaneMetrics>& of(const Frame& frame);

 private:
  std::vector<LaneMetrics> metrics_;
  std::vector<StepPtr> of_;  // newest and shown step of each run; kept: their addresses then name the runs
  std::optional<StepRange> range_;
  std::uint64_t sequence_ = 0;
  bool plain_ = false;
};

/// Which two runs are looked at: the one that is selected, and another.
class RunPair {
 public:
  /// Once a frame: notices which run was selected before, and where both are now. False: runs came or went.
  bool follow(const Frame& frame);
  /// The run that all are compared with: the one chosen, else the full cache.
  int reference() const { return pinned_ >= 0 && pinned_ < static_cast<int>(specs_.size()) ? pinned_ : 0; }
  /// Both, in the order they are shown in. The other one: the one chosen, else the one looked at before, else a neighbour.
  std::pair<int, int> lanes(const Selection& selection) const;
  void choose(int lane) { pinned_ = lane; }
  /// The other run as somebody chose it or looked at it before; -1: nobody did. It can be given back, and holds from the next frame on.
  int other() const { return pinned_ >= 0 ? pinned_ : previous_; }
  void restore(int lane) { restored_ = lane; }
  void swap() { swapped_ = !swapped_; }
  /// What the buttons of the pair do: the first or the second run is to be this one. The other one of the two changes places with it.
  void set(const Selection& selection, bool first, int lane, std::vector<Intent>& intents);

 private:
  int selected(const Selection& selection) const;
  int against(int lane) const;

  int pinned_ = -1;                 // run chosen for the difference; -1: none
  int previous_ = -1;               // run selected before the present one
  int selected_ = -1;               // in the last frame
  int restored_ = -1;               // to be taken for the one before
  std::vector<std::string> specs_;  // of the runs of the last frame
  bool swapped_ = false;
};

/// Which tokens the runs represent at their shown steps; counted when first asked for, then followed.
class RunTokens {
 public:
  void reset(std::size_t n_lanes);
  const Represented& of(const Snapshot& snapshot, int lane, int step);
  /// One token in all heads of a run.
  TokenCount count(const Snapshot& snapshot, int lane, int step, int token) { return token_counts_.of(snapshot, lane, step, token); }
  /// Of two lanes, with the counts of a token in all of them; -1: of none.
  DifferenceScene difference(const Snapshot& snapshot, std::pair<int, int> lanes, const std::vector<LaneMetrics>& metrics, int token);

 private:
  std::vector<Represented> shown_;  // by lane
  LaneDifference cells_;
  DifferenceCounts counts_;  // of the pair looked at
  TokenCounts token_counts_;
};

}  // namespace kvscope::viz
