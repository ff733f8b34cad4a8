// SPDX-License-Identifier: Apache-2.0
#include "runtime/lane/lane_checkpoint.h"

#include <algorithm>

#include "core/error.h"
#include "measure/distribution.h"
#include "runtime/lane/lane.h"
#include "snapshot/held_bytes.h"

namespace kvscope {

std::unique_ptr<LaneCheckpoint> Lane::checkpoint() const {
  KVSCOPE_ASSERT(!backend_caches_.on());
  auto out = std::make_unique<LaneCheckpoint>();
  out->n_steps = static_cast<int>(steps.size());
  out->n_tokens = steps.back()->position + 1;
  out->policy = context_.policy->clone();
  out->layers = caches_.checkpoint();
  out->fates = fates;
  out->n_fates_steps = n_fates_steps;
  out->warning_watch = warning_watch;
  out->logits = logits;
  out->compress_ms = compress_ms;
  out->prompt_compress_ms = prompt_compress_ms;
  return out;
}

std::unique_ptr<Lane> Lane::restored(const LaneCheckpoint& saved) const {
  auto copy = std::make_unique<Lane>(context_.backend, context_.model, context_.setup, saved.policy->clone());
  copy->caches_.restore(caches_, saved);
  copy->steps.assign(steps.begin(), steps.begin() + saved.n_steps);
  copy->n_figures_only = std::min(n_figures_only, saved.n_steps);
  for (const StepPtr& step : copy->steps) copy->record_bytes += held_bytes(*step);
  copy->fed.assign(fed.begin(),
                   fed.begin() + static_cast<std::ptrdiff_t>(std::min(fed.size(), static_cast<std::size_t>(saved.n_steps) - 1)));
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
  copy->set_tape(context_.tape, context_.writes_tape);
  return copy;
}

std::unique_ptr<Lane> Lane::fork(const LaneCheckpoint& saved, const LaneSpec& spec) const {
  std::unique_ptr<Lane> copy = restored(saved);
  copy->context_.setup.spec = spec;
  copy->context_.edits = HandChanges(spec.edits);
  copy->record_bytes = 0;  // those it begins with are this lane's
  const LaneContext &now = copy->context_, &before = context_;
  const bool has_all = now.keeps_history() == before.keeps_history() && (before.keeps_value_norms() || !now.keeps_value_norms());
  return has_all ? std::move(copy) : nullptr;
}

}  // namespace kvscope
