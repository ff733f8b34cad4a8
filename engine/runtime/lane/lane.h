// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cache/cache_changes.h"
#include "cache/head_cache.h"
#include "cache/history.h"
#include "cache/key_lookups.h"
#include "policy/decision.h"
#include "policy/policy.h"
#include "policy/text/lane_edits.h"
#include "runtime/forward.h"
#include "runtime/lane/cache_sizes.h"
#include "runtime/lane/lane_checkpoint.h"
#include "runtime/lane/layer_view.h"
#include "runtime/lane/query_tape.h"
#include "runtime/lane/record_options.h"
#include "runtime/lane/slot_segments.h"
#include "runtime/prompt/probe_run.h"
#include "runtime/prompt/prompt_run.h"
#include "snapshot/snapshot.h"

namespace kvscope {

/// One policy with its budget over the prompt: caches of all heads, beside them the lane's own uncompressed history, and the record of
/// every step.
class Lane {
 public:
  struct Setup {
    LaneSpec spec;
    PromptMode mode = PromptMode::prefill;
    int n_prompt = 0;
    std::uint64_t seed = 0;
    RecordOptions record;
  };
  /// policy: of this specification, text and mode, and of nobody else.
  Lane(Backend& backend, const Model& model, const Setup& setup, std::unique_ptr<Policy> policy);

  const Policy& policy() const { return *policy_; }
  const Setup& setup() const { return setup_; }

  /// Opens the record of the next step; load_prompt() or prepare()/finish() of every layer fill its heads, the session the distributions.
  void begin_step(int position);
  StepRecord& record() { return *record_; }
  /// The open record, finished: no step is open afterwards.
  StepPtr take_record() { return std::move(record_); }
  /// tape: where coming queries are read from, for lanes whose policy needs them. writes: this is the full-cache lane that fills it. Null:
  /// none.
  void set_tape(QueryTape* tape, bool writes) {
    tape_ = tape;
    writes_tape_ = tape && writes;
  }
  /// After an edit that leaves every decision as it was: the prompt has another length now.
  void set_prompt_length(int n_prompt) { setup_.n_prompt = n_prompt; }

  /// Prefill mode, step 0: takes over the prompt's keys, values and statistics, then compresses once. probes: what the policy needs is
  /// known. layer_done: called after each layer.
  void load_prompt(PromptRun& prompt, const ProbeRun& probes, const std::function<void()>& layer_done);

  /// Row `row` of the batch is this lane's token. before_rotation(): what is to be known of the unrotated key. prepare(): appends its slot
  /// in layer rows.layer and adds the attention of all heads to `jobs` (valid until finish()). finish(), after attention: statistics,
  /// measures, compression. The step's own output is not changed by it: where a device works through the layers, finish() of all of them
  /// comes after the last one, in order, so that the host waits once and not in each.
  void before_rotation(const LayerRows& rows, int row);
  void prepare(const LayerRows& rows, int row, std::vector<AttentionJob>& jobs);
  void finish(const LayerRows& rows, int row);
  /// Before finish() of these layers.
  void append_value_norms(std::span<const LayerRows> layers, int row);
  /// Where finish() of all layers comes at the end of the step, the rest of every layer's compression: merge() of all of them, then
  /// change_caches() once, then update_slots() of all. Like finish(), the first and the last may run for several layers at the same time.
  void merge(int layer);
  void change_caches();
  void update_slots(int layer);
  /// residual: this lane's row of the residual stream after `layer`, backend memory [dim].
  void after_layer(int layer, const void* residual);
  /// After all of them.
  void end_step();
  /// True if the norms of all values after W_O are wanted, those of the prompt included.
  bool wants_value_norms() const;

  /// What it takes, beside this lane, to make it again as it is now. lane_checkpoint.cpp.
  std::unique_ptr<LaneCheckpoint> checkpoint() const;
  /// As it was at one of its own checkpoints. The history is shared, copy on write.
  std::unique_ptr<Lane> restored(const LaneCheckpoint& saved) const;
  /// The same as a lane of another specification: same policy and budgets, its what-ifs of steps that have not run may differ.
  /// nullptr where the other one keeps a history that this one does not have.
  std::unique_ptr<Lane> fork(const LaneCheckpoint& saved, const LaneSpec& spec) const;

  CacheSizes sizes() const;

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
  struct Layer {
    std::vector<HeadCache> heads;
    std::optional<History> shadow;
    std::vector<std::shared_ptr<const Buffer>> queries;  // of every token, rotated: [n_heads, head_dim]; empty: the policy never reloads
    std::vector<double> value_l1;  // [tokens, n_heads] norms of the full history's values after W_O; empty: not wanted
  };
  struct HeadJob {  // attention of one head: buffers and results of the layer in work
    SlotSegments cache;
    std::vector<KvSegment> shadow;
    std::vector<double> bias;
    Buffer q, p, z, p_full, sinks, after_o;
    std::vector<double> host_p, host_z, host_p_full;
    std::span<const double> p_seen;  // this step's attention to the full history, [group, tokens]; empty: not had
    bool removed_before = false;     // or left unread in this step: the output may differ from that over the full history
    std::vector<int> unread = {};    // slots that this step's query does not read, ascending
  };
  struct Changed {  // a head that a step's compression changed, and its output before that
    int layer = 0, kv_head = 0;
    const void* q = nullptr;
    std::vector<double> before;
  };

  struct Compression {  // of a layer in a step
    bool reloaded = false, after_prompt = false;
    const void* q = nullptr;
    std::vector<double> o = {};
    LayerView view = {};
    std::unique_ptr<LayerDecision> decision = {};  // where the policy has asked about keys and has no answer yet
    std::vector<Plan> plans = {};                  // of every head, once they are made
  };
  struct LayerWork {                         // what a step leaves of a layer for finish() and what comes after it
    std::vector<HeadJob> heads;              // [n_kv_heads]
    Buffer q;                                // [n_heads, head_dim], where caches want their queries rotated otherwise
    Buffer o_full;                           // output over the full history
    Buffer key_norms;                        // double [n_kv_heads] of the step's keys before rotation, where somebody asks
    std::optional<Compression> compression;  // under way
    std::vector<Changed> changed;            // by it
    double ms = 0;                           // of Lane::compress_ms, since the step began
  };

  class HeadHindsight;

  /// Slots may go: by the policy, or by hand from the full cache, too.
  bool removes() const { return policy_->compresses() || !what_ifs_.empty(); }
  /// The uncompressed history is there to be measured against, not only because the policy needs it.
  bool compares() const { return setup_.record.shadow && removes() && (setup_.record.measures.local || setup_.record.captures); }
  std::vector<std::unique_ptr<Hindsight>> hindsight(int layer) const;
  /// A step's rows are of use: somebody sees them, or a later compression reads what comes of them.
  bool reads_steps() const { return setup_.record.captures || setup_.record.measures.prediction || policy_->every_step(); }
  bool reads_attention(int layer) const { return setup_.record.captures || (reads_steps() && policy_->needs(layer).reads_a()); }
  bool reads_logits() const { return reads_steps() && policy_->needs().reads_z(); }
  /// The step's keys and values, rows of all heads, come to their caches.
  void append_rows(Layer& layer, const void* k, const void* v);
  void read_key_norms(int layer);     // of the step's slots
  void observe(int layer, int head);  // statistics
  void record_attention(int layer, int head);
  void measure(int layer_idx, std::span<const double> o);
  void measure_differences();
  void measure_prediction(const SlotState& slots, std::span<const double> z, HeadRecord& record) const;
  bool theta_applies() const;
  /// Nothing was removed before this step: it cannot have done any harm.
  void set_unharmed(HeadRecord& record) const;
  /// Decides and carries out, or, where finish() of all layers comes at the end of the step, decides as far as merge() can go on.
  void compress(int layer, const PromptRun* prompt, const void* q, std::span<const double> o);
  void view_layer(int layer, const PromptRun* prompt, KeyLookups* lookups, LayerView& view);
  /// First token that the step's query sees in a layer, and that the next one's sees.
  int first_seen(int layer) const { return config_.layer(layer).first_seen(record_->position); }
  int first_kept(int layer) const { return config_.layer(layer).first_seen(record_->position + 1); }
  void record_plans(int layer);
  void add_changes(int layer, CacheChanges& changes);
  /// Gives the room back that a whole prompt took in the caches of a layer.
  void fit(int layer);
  void keep_query(int layer, const void* q);
  /// True if the caches of this layer were rebuilt from the uncompressed history in this step. lane_reload.cpp.
  bool reload(int layer);
  bool keeps_history() const;
  /// Tokens that what-ifs of steps before `step` pinned in a head, ascending.
  std::vector<int> pinned(int layer, int kv_head, int step) const;
  /// What-ifs of the step in work, in order. True if they changed slots. lane_what_ifs.cpp.
  bool do_what_ifs(int layer, int kv_head, HeadRecord& record);
  bool remove_by_hand(HeadCache& head, int layer, const Plan& plan, HeadRecord& record);
  bool do_what_if(const WhatIf& what_if, int layer, int kv_head, HeadRecord& record);
  void describe(const HeadCache& head, HeadRecord& record) const;
  /// Fills in how far the output would move if the step's query saw what its compression left of the heads that it changed.
  void measure_changes();
  SlotSegments slots_seen(int layer, int kv_head, Buffer& buffer) const;
  void count_time();
  void* reserve(Buffer& buffer, std::size_t elements) const { return kvscope::reserve(backend_, buffer, elements); }
  bool finishes_at_the_end() const { return backend_.workers() == 0; }
  LayerWork& work(int layer) { return finishes_at_the_end() ? work_[static_cast<std::size_t>(layer)] : work_.front(); }
  HeadRecord& head_record(int layer, int head) { return record_->heads[static_cast<std::size_t>(layer) * config_.n_kv_heads + head]; }
  std::size_t bytes(std::size_t elements) const { return elements * size_of(backend_.dtype()); }

  Backend& backend_;
  const Model& model_;
  const ModelConfig& config_;
  Setup setup_;
  std::unique_ptr<Policy> policy_;
  std::vector<WhatIf> what_ifs_;  // those that are on
  std::vector<Layer> layers_;
  std::shared_ptr<StepRecord> record_;
  QueryTape* tape_ = nullptr;
  bool writes_tape_ = false;
  std::vector<LayerWork> work_;          // of every layer where all are finished after the whole pass, else of the one in work
  std::unique_ptr<KeyLookups> lookups_;  // of the step in work, where layers are finished after the whole pass
  std::vector<std::vector<double>>
      differences_;  // [n_layers] of a step's output to that over the full history, [q_dim]; empty: not measured
  Buffer key_, residuals_, difference_rows_;
};

}  // namespace kvscope
