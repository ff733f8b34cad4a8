// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <QString>

#include "snapshot/snapshot.h"

namespace kvscope {

/// One token after the prompt: what the reference goes on with and what a lane would have said.
struct GeneratedCell {
  int step = 0;
  QString reference, says;  // token texts; "" where there is none
  QString choice;           // the reference's, also where another token was fed
  bool same = true;         // the lane's first choice is the reference's
  double p = 0;             // of the reference's token in the lane; NaN: not known
};

/// One cell per step of `lane` from the last prompt token on.
std::vector<GeneratedCell> generatedCells(const Snapshot& snapshot, const LaneSnapshot& lane);

}  // namespace kvscope
