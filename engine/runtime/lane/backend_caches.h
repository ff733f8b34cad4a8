// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "backend/backend.h"
#include "policy/plan.h"
#include "runtime/forward.h"
#include "runtime/lane/lane_caches.h"
#include "runtime/lane/lane_context.h"

namespace kvscope {

/// A lane whose caches are all full, so that every token that comes takes the place of the slot of lowest score, and whose records hold no
/// more than what went: a backend that can keeps account of slots and statistics itself then (backend/slot_table.h), and the host's own
/// stay as they were. Nobody asks for them: there are no checkpoints of a run whose records hold no slots.
class BackendCaches {
 public:
  BackendCaches(LaneContext& lane, LaneCaches& caches) : lane_(lane), caches_(caches) {}

  /// Looks whether it is so from this step on.
  void begin_step();
  bool on() const { return table_ != nullptr; }
  /// While it is on, in place of what Lane's other parts do in a step.
  void prepare(const LayerRows& rows, int row, std::vector<AttentionJob>& jobs);
  void attended(int layer) { table_->displace(layer); }
  void finish(int layer);

 private:
  bool may_be() const;
  std::size_t head(int layer, int kv_head) const { return static_cast<std::size_t>(layer * lane_.config.n_kv_heads + kv_head); }

  LaneContext& lane_;
  LaneCaches& caches_;
  std::unique_ptr<SlotTable> table_;
  std::vector<KvSegment> slots_;  // of every head, with that of the step's token
  std::vector<int> lost_;         // votes of every head
  MergeForm form_ = MergeForm::none;
};

}  // namespace kvscope
