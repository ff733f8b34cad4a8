// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "runtime/forward.h"
#include "runtime/lane/lane_caches.h"
#include "runtime/lane/lane_context.h"
#include "runtime/lane/slot_segments.h"
#include "runtime/prompt/prompt_run.h"

namespace kvscope {

/// The attention of a lane in the step in work: what its heads have computed, and what comes of it, statistics and the record's attention.
class StepAttention {
 public:
  struct Head {  // buffers and results
    SlotSegments cache;
    std::vector<KvSegment> history;
    std::vector<double> bias;
    void *p = nullptr, *z = nullptr;  // in the layer's
    Buffer p_full, sinks;
    std::vector<double> host_p, host_z, host_p_full;
    std::span<const double> p_seen;           // this step's attention to the full history, [group, tokens]; empty: not had
    bool removed_before = false;              // or left unread in this step: the output may differ from that over the full history
    std::vector<int> unread = {};             // slots that this step's query does not read, ascending
    double ms = 0;                            // that its statistics took
    std::optional<FurtherSlot> further = {};  // of what has gone, where sums of it are kept
  };
  struct Layer {
    std::vector<Head> heads;  // [n_kv_heads]
    Buffer p, z;              // of all heads, [group, slots] each
    Buffer q;                 // [n_heads, head_dim], where caches want their queries rotated otherwise
    Buffer o_full;            // output over the full history
    Buffer key_norms;         // double [n_kv_heads] of the step's keys before rotation, where somebody asks
  };
  StepAttention(LaneContext& lane, LaneCaches& caches);

  const Layer& layer(int layer) const { return layers_[layer]; }

  /// The prompt's last row instead of a step's. `prompt` stays until the layer is finished.
  void read_prompt(const PromptRun& prompt, int layer);
  void before_rotation(const LayerRows& rows, int row);
  /// Opens the slots of the step's token, whose rows the caches have, and adds the attention of all heads to `jobs`.
  void prepare(const LayerRows& rows, int row, std::vector<AttentionJob>& jobs);
  /// When it is done: statistics of these heads, then their records.
  void read(int layer, int first_head, int n_heads);
  /// Of all heads of the layer, when they are read.
  void count_time(int layer);

 private:
  /// Opens the slots and finds the memory of what is read of the heads.
  void open_slots(int layer);
  void read_key_norms(int layer, int first_head, int n_heads);
  void read_rows(int layer, int kv_head);
  void read_learned(const LayerRows& rows, int row);
  void observe(int layer, int kv_head);
  void record(int layer, int kv_head);

  LaneContext& lane_;
  LaneCaches& caches_;
  PerLayer<Layer> layers_;
};

}  // namespace kvscope
