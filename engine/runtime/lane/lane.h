// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/forward.h"
#include "runtime/lane/backend_caches.h"
#include "runtime/lane/cache_sizes.h"
#include "runtime/lane/lane_caches.h"
#include "runtime/lane/lane_checkpoint.h"
#include "runtime/lane/lane_compression.h"
#include "runtime/lane/lane_context.h"
#include "runtime/lane/lane_measures.h"
#include "runtime/lane/step_attention.h"
#include "runtime/prompt/probe_run.h"
#include "runtime/prompt/prompt_run.h"
#include "snapshot/snapshot.h"

namespace kvscope {

/// One policy with its budget over the prompt: what goes through its parts in a step, and the records of all steps.
class Lane {
 public:
  using Setup = LaneSetup;
  /// policy: of this specification, text and mode, and of nobody else.
  Lane(Backend& backend, const Model& model, const Setup& setup, std::unique_ptr<Policy> policy);
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  const Policy& policy() const { return *context_.policy; }
  int n_kv_heads() const { return context_.config.n_kv_heads; }
  const Setup& setup() const { return context_.setup; }

  /// Opens the record of the next step; load_prompt() or prepare()/finish() of every layer fill its heads, the session the distributions.
  void begin_step(int position);
  StepRecord& record() { return *context_.record; }
  /// The open record, finished: no step is open afterwards.
  StepPtr take_record() { return std::move(context_.record); }
  /// tape: where coming queries are read from, for lanes whose policy needs them. writes: this is the full-cache lane that fills it. Null:
  /// none.
  void set_tape(QueryTape* tape, bool writes) {
    context_.tape = tape;
    context_.writes_tape = tape && writes;
  }
  /// After an edit that leaves every decision as it was: the prompt has another length now, and so a policy of its own.
  void set_prompt(int n_prompt, std::shared_ptr<const Policy> decides_by) {
    context_.setup.n_prompt = n_prompt;
    context_.setup.decides_by = std::move(decides_by);
  }

  /// Prefill mode, step 0: takes over the prompt's keys, values and statistics, then compresses once. probes: what the policy needs is
  /// known. layer_done: called after each layer.
  void load_prompt(PromptRun& prompt, const ProbeRun& probes, const std::function<void()>& layer_done);

  /// Row `row` of the batch is this lane's token. before_rotation(): what is to be known of the unrotated key. prepare(): appends its slot
  /// in layer rows.layer and adds the attention of all heads to `jobs` (valid until finish()). finish(), after attention: statistics,
  /// measures, compression. The step's own output is not changed by it: where a device works through the layers, finish() of all of them
  /// comes after the last one, in order, so that the host waits once and not in each.
  void before_rotation(const LayerRows& rows, int row) { attention_.before_rotation(rows, row); }
  void prepare(const LayerRows& rows, int row, std::vector<AttentionJob>& jobs);
  void finish(const LayerRows& rows, int row);
  /// Where layers are finished at the end of a step: the attention of this one has been asked for.
  void attended(int layer) {
    if (backend_caches_.on()) backend_caches_.attended(layer);
  }
  /// The same where several threads share the heads of a layer: read_heads() of all of them, then finish_read().
  void read_heads(int layer, int first_head, int n_heads) {
    if (!backend_caches_.on()) attention_.read(layer, first_head, n_heads);
  }
  void finish_read(const LayerRows& rows, int row);
  /// Before finish() of these layers.
  void append_value_norms(std::span<const LayerRows> layers, int row) {
    if (wants_value_norms()) caches_.append_value_norms(layers, row);
  }
  /// Where finish() of all layers comes at the end of the step, the rest of every layer's compression: merge() of all of them, then
  /// change_caches() once, then update_slots() of all. Like finish(), the first and the last may run for several layers at the same time.
  void merge(int layer) {
    if (!backend_caches_.on()) compression_.merge(layer);
  }
  void change_caches() {
    if (!backend_caches_.on()) compression_.change_caches();
  }
  void update_slots(int layer) {
    if (!backend_caches_.on()) compression_.update_slots(layer);
  }
  /// residual: this lane's row of the residual stream after `layer`, backend memory [dim].
  void after_layer(int layer, const void* residual) { measures_.after_layer(layer, residual); }
  /// After all of them.
  void end_step();
  /// What the next step would begin with: memory. For a thread that has nothing else to do while a device works.
  void prepare_next_step();
  /// True if the norms of all values after W_O are wanted, those of the prompt included.
  bool wants_value_norms() const { return context_.keeps_value_norms(); }

  /// What it takes, beside this lane, to make it again as it is now. Only where the records hold slots.
  std::unique_ptr<LaneCheckpoint> checkpoint() const;
  /// As it was at one of its own checkpoints. The history is shared, copy on write.
  std::unique_ptr<Lane> restored(const LaneCheckpoint& saved) const;
  /// The same as a lane of another specification: same policy and budgets, its what-ifs of steps that have not run may differ.
  /// nullptr where the other one keeps a history, or norms of its values, that this one does not have.
  std::unique_ptr<Lane> fork(const LaneCheckpoint& saved, const LaneSpec& spec) const;

  CacheSizes sizes() const { return caches_.sizes(); }

  std::vector<StepPtr> steps;
  int n_figures_only = 0;   // the first of them: their heads hold no slots any more
  double record_bytes = 0;  // of the records that this lane made itself
  std::shared_ptr<const LaneFates> fates;
  WarningWatch warning_watch;                 // of `steps`
  int n_fates_steps = 0;                      // steps that `fates` covers
  std::vector<int> fed;                       // token fed after each step
  std::vector<double> logits;                 // [vocab_size] after the newest step
  std::vector<double> log_p;                  // ln softmax of them, once the step is closed
  std::vector<double> hidden;                 // [n_layers, dim] residual stream of the newest step; empty: not measured, or the prompt's
  double compress_ms = 0;                     // statistics, decisions and merges so far, of all threads together
  double compress_ms_before = 0;              // the same when the newest step began
  double prompt_compress_ms = kNotAvailable;  // of it, the one compression of a prefill
  bool broken = false;                        // a cancelled step left layers at different positions: must not be used again

 private:
  /// Takes over the prompt's statistics; the policy sees the whole prompt.
  void read_prompt(const PromptRun& prompt, const ProbeRun& probes);
  void count_time();

  LaneContext context_;
  LaneCaches caches_;
  StepAttention attention_;
  LaneMeasures measures_;
  LaneCompression compression_;
  BackendCaches backend_caches_;
  std::vector<HeadRecord> next_heads_;  // of the next step's record; empty: not there yet
};

}  // namespace kvscope
