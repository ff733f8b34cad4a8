// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "cache/head_cache.h"
#include "cache/history.h"
#include "policy/plan.h"
#include "policy/policy.h"
#include "policy/text/lane_edits.h"
#include "runtime/lane/record_options.h"
#include "snapshot/step_record.h"

namespace kvscope {

/// What is changed by hand in the caches of a run: after a step's own compression, through the same plans that policies return.
class HandChanges {
 public:
  explicit HandChanges(const LaneEdits& edits) : what_ifs_(active_what_ifs(edits)) {}

  bool any() const { return !what_ifs_.empty(); }
  bool merges() const { return has(WhatIf::Kind::merge); }
  /// Tokens come back from the uncompressed history.
  bool restores() const { return has(WhatIf::Kind::restore); }
  /// Tokens that edits of steps before `step` pinned in a head, ascending.
  std::vector<int> pinned(int layer, int kv_head, int step) const;

  /// One head after the step's own compression.
  struct Site {
    Backend& backend;
    const ModelConfig& config;
    const Policy& policy;
    const RecordOptions& options;
    int step, position;
    int layer, kv_head;
    HeadCache& head;
    const History* history;  // of the layer; null: none, then nothing comes back
    HeadMaps maps;
    HeadRecord& record;
  };
  /// The edits of the step, in order. True if they changed slots.
  bool carry_out(const Site& site) const;

 private:
  bool has(WhatIf::Kind kind) const;

  std::vector<WhatIf> what_ifs_;  // those that are on
};

}  // namespace kvscope
