// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "runtime/lane/lane_caches.h"
#include "runtime/lane/lane_context.h"
#include "runtime/lane/step_attention.h"

namespace kvscope {

/// What a lane measures of its own steps (POLICIES.md section 6): its cache against its own full history.
class LaneMeasures {
 public:
  LaneMeasures(LaneContext& lane, LaneCaches& caches);

  /// Nothing was removed before this step: it cannot have done any harm.
  void set_unharmed(HeadRecord& record) const;
  /// Of a layer after its attention. o: output of its heads, [q_dim].
  void measure(int layer, const StepAttention::Layer& attention, std::span<const double> o);
  /// The step's compression changed a head. q: the step's queries of its group, o: its output before.
  void add_changed(int layer, int kv_head, const void* q, std::span<const double> o) {
    changed_[layer].push_back({layer, kv_head, q, {o.begin(), o.end()}});
  }
  /// Fills in how far the output would move if the step's query saw what its compression left of those heads.
  void measure_changes();
  /// residual: this lane's row of the residual stream after `layer`, backend memory [dim].
  void after_layer(int layer, const void* residual);
  /// After all of them. hidden: becomes [n_layers, dim] of those rows where they are measured.
  void end_step(std::vector<double>& hidden);

 private:
  struct Changed {
    int layer = 0, kv_head = 0;
    const void* q = nullptr;
    std::vector<double> before;
  };
  struct SecondLook {  // at such a head
    SlotSegments cache;
    std::vector<double> bias;
    Buffer q, sinks, out;
    std::optional<FurtherSlot> further;
  };

  void measure_differences();

  LaneContext& lane_;
  LaneCaches& caches_;
  PerLayer<std::vector<Changed>> changed_;
  std::vector<SecondLook> looks_;
  std::vector<std::vector<double>>
      differences_;  // [n_layers] of a step's output to that over the full history, [q_dim]; empty: not measured
  Buffer residuals_, difference_rows_;
};

}  // namespace kvscope
