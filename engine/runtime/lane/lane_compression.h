// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "cache/cache_changes.h"
#include "cache/key_lookups.h"
#include "policy/decision.h"
#include "runtime/lane/lane_caches.h"
#include "runtime/lane/lane_context.h"
#include "runtime/lane/lane_measures.h"
#include "runtime/lane/layer_view.h"
#include "runtime/lane/step_attention.h"
#include "runtime/prompt/prompt_run.h"

namespace kvscope {

/// What a lane's policy decides about its layers in the step in work, carried out in the caches and recorded; edits by hand follow.
class LaneCompression {
 public:
  LaneCompression(LaneContext& lane, LaneCaches& caches, const StepAttention& attention, LaneMeasures& measures)
      : lane_(lane), caches_(caches), attention_(attention), measures_(measures), layers_(lane.n_works()) {}

  void begin_step();
  /// Decides about a layer and carries it out, or, where layers are finished at the end of the step, goes as far as it can without the
  /// others. prompt: this is the one compression after it; else null. q, o: the step's queries, in backend memory, and its output, [q_dim].
  void compress(int layer, const PromptRun* prompt, const void* q, std::span<const double> o);
  /// What is left of it there: merge() of all layers, then change_caches() once, then update_slots() of all. The first and the last may run
  /// for several layers at the same time.
  void merge(int layer);
  void change_caches();
  void update_slots(int layer);
  void end_step();
  /// Gives memory of the step before back, at any time in a step.
  void forget_last_step() { last_lookups_.reset(); }

 private:
  struct Layer {
    bool reloaded = false, after_prompt = false;
    bool decided = false, merged = false, updated = false;  // how far it is
    const void* q = nullptr;
    std::vector<double> o = {};
    LayerView view = {};
    LayerDecision decision = {};   // if `decided`; its memory is used again
    std::vector<Plan> plans = {};  // else: of every head
    CacheChanges changes = {};

    void clear();
    Plan& plan(int head) { return decided ? decision.heads[static_cast<std::size_t>(head)].plan : plans[static_cast<std::size_t>(head)]; }
  };

  void view_layer(int layer, const PromptRun* prompt, KeyLookups* lookups, LayerView& view) const;
  void record_plans(int layer);
  void add_changes(int layer);
  /// The host's side needs nothing of the backend's, which comes later.
  bool updates_before_caches(const Layer& work) const;
  void update_head(int layer, int kv_head);
  /// What the policy was asked to keep and why, before its plan changes the slots.
  void record_rules(int layer, int kv_head, Plan& plan, HeadRecord& record) const;
  void update_statistics(int layer, HeadCache& head, const Plan& plan, HeadRecord& record);
  bool edit_by_hand(int layer, int kv_head, HeadRecord& record);
  void describe(const HeadCache& head, HeadRecord& record) const;

  LaneContext& lane_;
  LaneCaches& caches_;
  const StepAttention& attention_;
  LaneMeasures& measures_;
  PerLayer<Layer> layers_;                              // under way
  std::unique_ptr<KeyLookups> lookups_, last_lookups_;  // of the step, where layers are finished at its end
};

}  // namespace kvscope
