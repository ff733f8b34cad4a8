// SPDX-License-Identifier: Apache-2.0
#include "runtime/lane/lane_checkpoint.h"

#include <algorithm>

#include "core/error.h"
#include "measure/distribution.h"
#include "runtime/lane/lane.h"
#include "snapshot/held_bytes.h"

namespace kvscope {

std::unique_ptr<LaneCheckpoint> Lane::checkpoint() const {
  auto out = std::make_unique<LaneCheckpoint>();
  out->n_steps = static_cast<int>(steps.size());
  out->n_tokens = steps.back()->position + 1;
  out->policy = policy_->clone();
  const bool may_remove = policy_->compresses() || !what_ifs_.empty();
  for (int l = 0; l < config_.n_layers; ++l) {
    const Layer& layer = layers_[l];
    LaneCheckpoint::Layer& saved = out->layers.emplace_back();
    for (const HeadCache& head : layer.heads) {
      const bool elsewhere = !head.ever_changed && config_.window(l) == 0 && (layer.shadow.has_value() || !may_remove);
      saved.heads.push_back(clone_without_rows(head));
      saved.has_rows.push_back(!elsewhere);
      if (!elsewhere) saved.heads.back().kv = backend_.clone_kv(head.kv);
    }
  }
  out->fates = fates;
  out->n_fates_steps = n_fates_steps;
  out->warning_watch = warning_watch;
  out->logits = logits;
  out->compress_ms = compress_ms;
  out->prompt_compress_ms = prompt_compress_ms;
  return out;
}

std::unique_ptr<Lane> Lane::restored(const LaneCheckpoint& saved) const {
  auto copy = std::make_unique<Lane>(backend_, model_, setup_, saved.policy->clone());
  const auto n_tokens = static_cast<std::size_t>(saved.n_tokens), n_steps = static_cast<std::size_t>(saved.n_steps);
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    const Layer& from = layers_[l];
    Layer& to = copy->layers_[l];
    to.shadow = from.shadow;
    if (to.shadow) to.shadow->truncate(saved.n_tokens);
    if (!from.queries.empty()) to.queries.assign(from.queries.begin(), from.queries.begin() + saved.n_tokens);
    if (!from.value_l1.empty())
      to.value_l1.assign(from.value_l1.begin(),
                         from.value_l1.begin() + static_cast<std::ptrdiff_t>(n_tokens * static_cast<std::size_t>(config_.n_heads)));
    for (std::size_t h = 0; h < from.heads.size(); ++h) {
      const HeadCache& kept = saved.layers[l].heads[h];
      to.heads[h] = clone_without_rows(kept);
      if (saved.layers[l].has_rows[h]) {
        to.heads[h].kv = backend_.clone_kv(kept.kv);
        continue;
      }
      to.heads[h].kv = backend_.make_kv(saved.n_tokens);
      if (to.shadow) {
        for (const KvSegment& s : to.shadow->segments(static_cast<int>(h))) backend_.append_kv(to.heads[h].kv, s.k, s.v, s.n);
      } else {
        const HeadKv& rows = from.heads[h].kv;
        KVSCOPE_ASSERT(rows.order.empty() && rows.n_slots >= saved.n_tokens);
        backend_.append_kv(to.heads[h].kv, rows.k.data(), rows.v.data(), saved.n_tokens);
      }
    }
  }
  copy->steps.assign(steps.begin(), steps.begin() + saved.n_steps);
  copy->n_figures_only = std::min(n_figures_only, saved.n_steps);
  for (const StepPtr& step : copy->steps) copy->record_bytes += held_bytes(*step);
  copy->fed.assign(fed.begin(), fed.begin() + static_cast<std::ptrdiff_t>(std::min(fed.size(), n_steps - 1)));
  if (StepPtr& last = copy->steps.back(); last->next_token >= 0) {  // another one may follow now
    auto open = std::make_shared<StepRecord>(*last);
    open->next_token = -1;
    open->nll = kNotAvailable;
    last = std::move(open);
  }
  copy->fates = saved.fates;
  copy->n_fates_steps = saved.n_fates_steps;
  copy->warning_watch = saved.warning_watch;
  copy->logits = saved.logits;
  copy->log_p = saved.logits;
  log_softmax(copy->log_p);
  copy->compress_ms = saved.compress_ms;
  copy->prompt_compress_ms = saved.prompt_compress_ms;
  copy->set_tape(tape_, writes_tape_);
  return copy;
}

std::unique_ptr<Lane> Lane::fork(const LaneCheckpoint& saved, const LaneSpec& spec) const {
  std::unique_ptr<Lane> copy = restored(saved);
  copy->setup_.spec = spec;
  copy->what_ifs_ = active_what_ifs(spec.edits);
  copy->record_bytes = 0;  // those it begins with are this lane's
  return copy->keeps_history() == keeps_history() ? std::move(copy) : nullptr;
}

}  // namespace kvscope
