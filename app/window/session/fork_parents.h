// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "snapshot/snapshot.h"

namespace kvscope {

struct LaneSpec;

/// Which of several runs with the same specification a fork was made on: its own specification fits all of them.
class ForkParents {
 public:
  /// The fork is the lane behind these.
  void made(const std::string& fork, const std::vector<LaneSpec>& lanes, int parent);
  /// The fork was edited further.
  void renamed(const std::string& before, const std::string& now);
  /// The results with every fork at its parent.
  SnapshotPtr tied(const SnapshotPtr& snapshot) const;

 private:
  /// By specification of the forks, one after the other: how many runs like its parent stand before it.
  std::map<std::string, std::vector<int>> m_before;
};

}  // namespace kvscope
