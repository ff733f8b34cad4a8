// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "cache/head_cache.h"
#include "policy/policy.h"
#include "snapshot/fates.h"
#include "snapshot/step_record.h"
#include "snapshot/warnings.h"

namespace kvscope {

/// What it takes to make a lane again as it was after some of its steps, beside the lane itself: records, tokens, the uncompressed history
/// and caches from which nothing has gone only ever grow, so that their beginning is read in the lane. Copied is what a compression has
/// changed.
struct LaneCheckpoint {
  struct Layer {
    std::vector<HeadCache> heads;  // kv: empty where the lane or its history holds the rows
    std::vector<char> has_rows;    // 1: kv holds them
  };
  int n_steps = 0;
  int n_tokens = 0;
  std::unique_ptr<Policy> policy;
  std::vector<Layer> layers;
  std::shared_ptr<const LaneFates> fates;
  int n_fates_steps = 0;
  WarningWatch warning_watch;
  std::vector<double> logits;
  double compress_ms = 0;
  double prompt_compress_ms = kNotAvailable;
};

}  // namespace kvscope
