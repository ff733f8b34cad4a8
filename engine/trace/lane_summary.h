// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "snapshot/snapshot.h"

namespace kvscope {

/// A lane in a few numbers. Means are over all steps of the lane (the prompt's step included) in which the number exists; kNotAvailable
/// where it exists in none. kl and top1_same compare with the full cache, so they end where the two have been fed different tokens
/// (follow=self): after that they would compare two texts.
struct LaneSummary {
  double kl = kNotAvailable;               // mean KL(full || lane), nats
  double nll = kNotAvailable;              // mean -ln p(token fed next), nats
  double top1_same = kNotAvailable;        // share of steps whose most likely token is the full cache's
  double local_rel_l2 = kNotAvailable;     // mean over steps and heads; POLICIES.md section 6
  double local_l1_wo = kNotAvailable;      // the same
  double attention_loss = kNotAvailable;   // the same
  double theta = kNotAvailable;            // the same
  double predictor_error = kNotAvailable;  // the same
  double hidden_rel_l2 = kNotAvailable;    // after the last layer, mean over steps
  int compared = 0;                        // steps that kl and top1_same are the mean of
  double tokens_per_s = kNotAvailable;     // steps after the first, per second of wall time; the lanes of a run share their steps
};

/// lane: index into snapshot.lanes.
LaneSummary summarize(const Snapshot& snapshot, std::size_t lane);

/// Ids of the lane's whole text: the prompt's and those fed after it.
std::vector<int> lane_tokens(const Snapshot& snapshot, const LaneSnapshot& lane);

}  // namespace kvscope
