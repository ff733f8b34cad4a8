// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "backend/backend.h"
#include "cache/pooled_tokens.h"
#include "policy/policy.h"
#include "runtime/lane/hand_changes.h"
#include "runtime/lane/query_tape.h"
#include "runtime/lane/record_options.h"
#include "runtime/lane/slot_segments.h"
#include "runtime/model/model.h"
#include "snapshot/step_record.h"

namespace kvscope {

struct LaneSetup {
  LaneSpec spec;
  PromptMode mode = PromptMode::prefill;
  int n_prompt = 0;
  std::uint64_t seed = 0;
  RecordOptions record;
  std::shared_ptr<const Policy> decides_by;  // as it was made of the specification and its files: another one decides otherwise
};

/// One T for every layer where a step finishes all of them after the last one; else one, of the layer in work.
template <class T>
class PerLayer {
 public:
  explicit PerLayer(std::size_t n) : all_(n) {}
  T& operator[](int layer) { return all_.size() == 1 ? all_.front() : all_[static_cast<std::size_t>(layer)]; }
  const T& operator[](int layer) const { return all_.size() == 1 ? all_.front() : all_[static_cast<std::size_t>(layer)]; }
  auto begin() { return all_.begin(); }
  auto end() { return all_.end(); }

 private:
  std::vector<T> all_;
};

/// What the parts of a lane work with, and what follows from it for what they keep, read and compare. It stays where it is as long as they
/// do.
struct LaneContext {
  LaneContext(Backend& backend, const Model& model, const LaneSetup& setup, std::unique_ptr<Policy> policy);

  Backend& backend;
  const Model& model;
  const ModelConfig& config;
  LaneSetup setup;
  std::unique_ptr<Policy> policy;
  HandChanges edits;          // of setup.spec
  QueryTape* tape = nullptr;  // where coming queries are read from, for policies that need them
  bool writes_tape = false;   // this is the full-cache lane that fills it

  std::shared_ptr<StepRecord> record;  // of the step in work
  PerLayer<double> ms;                 // that statistics, decisions and merges took in it

  /// Where a device works through the layers, the host finishes all of them after the last one, so that it waits once and not in each.
  bool finishes_at_the_end() const { return backend.workers() == 0; }
  std::size_t n_works() const { return finishes_at_the_end() ? static_cast<std::size_t>(config.n_layers) : 1; }  // of a PerLayer

  /// Slots may go: by the policy, or by hand from the full cache, too.
  bool removes() const { return policy->compresses() || edits.any(); }
  bool keeps_history() const {
    return edits.restores() || policy->needs().coming_queries > 0 || policy->reload() > 0 || (setup.record.history && removes());
  }
  /// The uncompressed history is there to be measured against, not only because the policy needs it.
  bool compares() const { return setup.record.history && removes() && (setup.record.measures.local || setup.record.captures); }
  /// The bound of the loss holds: what stays in a cache stays as it is.
  bool bounds_loss() const;
  bool keeps_value_norms() const { return bounds_loss() && removes() && setup.record.history; }
  /// A step's rows are of use: somebody sees them, or a later compression reads what comes of them.
  bool reads_steps() const { return setup.record.captures || setup.record.measures.prediction || policy->every_step(); }
  bool reads_attention(int layer) const { return setup.record.captures || (reads_steps() && policy->needs(layer).reads_a()); }
  bool reads_logits() const { return reads_steps() && policy->needs().reads_z(); }

  /// Null maps where nothing of what is evicted is kept.
  HeadMaps maps_of(int layer, int kv_head) const { return {config.window(layer) > 0 ? nullptr : policy->maps(), layer, kv_head}; }

  /// First token that the step's query sees in a layer, and that the next one's sees.
  int first_seen(int layer) const { return config.layer(layer).first_seen(record->position); }
  int first_kept(int layer) const { return config.layer(layer).first_seen(record->position + 1); }
  HeadRecord& head_record(int layer, int head) const {
    return record->heads[static_cast<std::size_t>(layer) * static_cast<std::size_t>(config.n_kv_heads) + static_cast<std::size_t>(head)];
  }

  /// Numbers of one KV head's group of queries.
  std::size_t group_size() const { return static_cast<std::size_t>(config.group()) * static_cast<std::size_t>(config.head_dim); }
  std::size_t bytes(std::size_t elements) const { return elements * size_of(backend.dtype()); }
  /// Row `row` of rows of so many numbers in backend memory.
  const std::byte* at(const void* rows, std::size_t width, int row) const {
    return static_cast<const std::byte*>(rows) + bytes(width) * static_cast<std::size_t>(row);
  }
  std::byte* at(void* rows, std::size_t width, int row) const {
    return static_cast<std::byte*>(rows) + bytes(width) * static_cast<std::size_t>(row);
  }
  void* reserve(Buffer& buffer, std::size_t elements) const { return kvscope::reserve(backend, buffer, elements); }
};

}  // namespace kvscope
