// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "cache/head_cache.h"
#include "cache/history.h"
#include "runtime/forward.h"
#include "runtime/lane/cache_sizes.h"
#include "runtime/lane/lane_checkpoint.h"
#include "runtime/lane/lane_context.h"
#include "runtime/lane/slot_segments.h"
#include "runtime/prompt/prompt_run.h"

namespace kvscope {

/// What a lane holds of its text: the caches of all heads, and beside them, as far as somebody needs it, the uncompressed history, the
/// queries and the norms of the values.
class LaneCaches {
 public:
  explicit LaneCaches(LaneContext& lane);

  std::span<HeadCache> heads(int layer) { return layers_[static_cast<std::size_t>(layer)].heads; }
  std::span<const HeadCache> heads(int layer) const { return layers_[static_cast<std::size_t>(layer)].heads; }
  HeadCache& head(int layer, int kv_head) { return heads(layer)[static_cast<std::size_t>(kv_head)]; }
  const HeadCache& head(int layer, int kv_head) const { return heads(layer)[static_cast<std::size_t>(kv_head)]; }
  /// Of a layer; null: none is kept.
  const History* history(int layer) const;
  /// ||v W_O||_1 of the history's values, [tokens, n_heads]; empty: not kept.
  std::span<const double> value_l1(int layer) const { return layers_[static_cast<std::size_t>(layer)].value_l1; }
  /// The slots of a head as its attention sees them. buffer: as of segments_of().
  SlotSegments seen(int layer, int kv_head, Buffer& buffer) const;
  /// What the sums over a head's evicted tokens are for its group's queries. None: none are kept, or nothing has gone.
  std::optional<FurtherSlot> further(int layer, int kv_head, const void* queries) const;
  CacheSizes sizes() const;

  /// The whole prompt comes to a layer, whose slots have its statistics already.
  void load(const PromptRun& prompt, int layer);
  /// A step's query, key and value, row `row` of the batch, come to a layer; the slots that they fill are still to be opened.
  void append(const LayerRows& rows, int row);
  /// Query, key and value alone, as far as they are kept beside the caches.
  void append_history(const LayerRows& rows, int row);
  void append_value_norms(std::span<const LayerRows> layers, int row);
  /// Gives the room back that a whole prompt took in a layer.
  void fit(int layer);
  /// Periodic lossless compression begins by making the caches of a layer anew from the full copy outside: true if this step is one of
  /// those.
  bool reload(int layer);

  std::vector<LaneCheckpoint::Layer> checkpoint() const;
  /// As `from` was at one of its checkpoints. Histories are shared, copy on write.
  void restore(const LaneCaches& from, const LaneCheckpoint& saved);

 private:
  struct Layer {
    std::vector<HeadCache> heads;
    std::optional<History> history;
    std::vector<std::shared_ptr<const Buffer>> queries;  // of every token, rotated: [n_heads, head_dim]; empty: the policy never reloads
    std::vector<double> value_l1;
  };

  void keep_query(Layer& layer, const void* q);
  void append_rows(Layer& layer, const void* k, const void* v);
  /// The cache of a head with every token of the history, and the slots that come back with it told to the record.
  HeadCache full_cache(const Layer& layer, int kv_head, HeadRecord& record) const;
  /// The first n rows of a cache that has only grown since.
  HeadKv first_rows(const Layer& from, const Layer& to, int kv_head, int n) const;

  LaneContext& lane_;
  std::vector<Layer> layers_;
  Buffer key_;  // of the step, where a cache keeps its keys without rotation
};

}  // namespace kvscope
