// SPDX-License-Identifier: Apache-2.0
#include "policy/mergers/head_mergers.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"

namespace kvscope {

HeadMergers::HeadMergers(const ResolvedLane& lane, const ModelConfig& model, const Make& make, const std::string& where)
    : n_kv_heads_(model.n_kv_heads), run_(make(lane.params)) {
  if (lane.head_keys.empty()) return;
  for (const HeadKey& k : lane.head_keys)
    if (k.layer >= model.n_layers || k.kv_head >= model.n_kv_heads)
      throw UsageError(fmt::format("{}: {}: expected layers 0 to {} and KV heads 0 to {}, got {}", where, k.key, model.n_layers - 1,
                                   model.n_kv_heads - 1, head_key(k.key, k.layer, k.kv_head)));
  for (int l = 0; l < model.n_layers; ++l)
    for (int h = 0; h < n_kv_heads_; ++h) {
      Params params = lane.params;
      for (const HeadKey& k : lane.head_keys)
        if (k.has(l, h)) params.set(k.key, k.value);
      const auto same = [&](const Params& other) { return other.all() == params.all(); };
      const auto known = std::ranges::find_if(params_, same);
      of_head_.push_back(same(lane.params) ? -1 : static_cast<int>(known - params_.begin()));
      if (of_head_.back() < 0 || known != params_.end()) continue;
      own_.push_back(make(params));
      params_.push_back(std::move(params));
    }
}

HeadMergers::HeadMergers(const HeadMergers& other)
    : n_kv_heads_(other.n_kv_heads_), run_(other.run_->clone()), params_(other.params_), of_head_(other.of_head_) {
  for (const auto& merger : other.own_) own_.push_back(merger->clone());
}

void HeadMergers::expect(std::span<HeadDecision> heads) const {
  for (HeadDecision& head : heads)
    if (!head.gone.empty()) run_->expect(head);  // what is asked does not depend on a head's own values
}

/// Mergers whose keys may differ look at one head at a time: heads without
/// values of their own merge as in any other run.
void HeadMergers::merge_layer(std::span<HeadDecision> heads, int step) {
  if (own_.empty()) return run_->merge_layer(heads, step);
  for (HeadDecision& head : heads) of(head.view.layer, head.view.kv_head).merge_layer({&head, 1}, step);
}

bool HeadMergers::alike(const HeadMergers& other) const {
  return of_head_ == other.of_head_ && std::ranges::equal(params_, other.params_, {}, &Params::all, &Params::all);
}

}  // namespace kvscope
