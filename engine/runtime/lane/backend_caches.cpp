// SPDX-License-Identifier: Apache-2.0
#include "runtime/lane/backend_caches.h"

#include <algorithm>
#include <optional>

#include "policy/lowest_goes.h"
#include "runtime/lane/plan_records.h"
#include "runtime/stopwatch.h"

namespace kvscope {

namespace {

/// All but those slots stand for one token each, and votes alone make a bias.
bool stand_for_themselves(const SlotState& slots, const std::vector<int>& but) {
  bool alone = true;
  for (int i = 0; i < slots.size(); ++i) alone &= (slots.votes[i] == 1 || std::ranges::binary_search(but, i)) && slots.extra[i] == 0;
  return alone;
}

}  // namespace

bool BackendCaches::may_be() const {
  const RecordOptions& record = lane_.setup.record;
  return lane_.finishes_at_the_end() && lane_.policy->compresses() && !record.captures && !record.slots && !record.measures.local &&
         !record.measures.prediction && !lane_.edits.any();
}

void BackendCaches::begin_step() {
  if (on() || !may_be()) return;
  const int n_layers = lane_.config.n_layers, n_heads = lane_.config.n_kv_heads;
  std::vector<SlotTable::Head> heads;
  std::optional<LowestGoes> goes;
  for (int l = 0; l < n_layers; ++l)
    for (int h = 0; h < n_heads; ++h) {
      HeadCache& cache = caches_.head(l, h);
      goes = lowest_goes(*lane_.policy, l, h, cache.slots);
      if (!goes || lane_.config.window(l) > 0 || !cache.ever_changed) return;
      if (!goes->into_nearest && !stand_for_themselves(cache.slots, goes->collectors)) return;
      heads.push_back({.kv = &cache.kv,
                       .slots = &cache.slots,
                       .first = goes->first,
                       .end = goes->end,
                       .into = goes->collectors,
                       .threshold = goes->into_nearest ? goes->into_nearest->threshold : 0});
    }
  const StatNeeds& needs = lane_.policy->needs();
  form_ = goes->into_nearest ? goes->into_nearest->form : MergeForm::none;
  using enum SlotTable::Fate;
  table_ = lane_.backend.keep_slots({.statistic = goes->by,
                                     .n_rows = needs.rows,
                                     .params = needs.params(),
                                     .reduce = needs.group,
                                     .fate = goes->into_nearest         ? merged
                                             : goes->collectors.empty() ? lost
                                                                        : collected,
                                     .vote_factor = lane_.policy->bias().vote_factor,
                                     .ema_alpha = needs.ema_alpha,
                                     .fills_mass = form_ == MergeForm::bias,
                                     .position = lane_.record->position,
                                     .heads = heads});
  if (!table_) return;
  slots_.clear();
  lost_.clear();
  for (int l = 0; l < n_layers; ++l)
    for (int h = 0; h < n_heads; ++h) {
      slots_.push_back(table_->slots(l, h));
      lost_.push_back(caches_.head(l, h).slots.evicted_votes);
    }
}

void BackendCaches::prepare(const LayerRows& rows, int row, std::vector<AttentionJob>& jobs) {
  const ModelConfig& config = lane_.config;
  const auto kv_dim = static_cast<std::size_t>(config.kv_dim()), q_dim = static_cast<std::size_t>(config.q_dim());
  caches_.append_history(rows, row);
  table_->append(rows.layer, lane_.at(rows.k, kv_dim, row), lane_.at(rows.v, kv_dim, row));
  const void* const q = lane_.at(rows.q, q_dim, row);
  void* const out = lane_.at(rows.out, q_dim, row);
  for (int h = 0; h < config.n_kv_heads; ++h)
    jobs.push_back({.slots = {&slots_[head(rows.layer, h)], 1},
                    .q = lane_.at(q, lane_.group_size(), h),
                    .out = lane_.at(out, lane_.group_size(), h),
                    .probabilities = table_->attention(h),
                    .logits = table_->logits(h),
                    .rows_stay = true,
                    .rule = config.layer(rows.layer).logits,
                    .rope = caches_.head(rows.layer, h).rope});
}

void BackendCaches::finish(int layer) {
  const Stopwatch watch(lane_.ms[layer]);
  const std::vector<Displaced> went = table_->displaced(layer);
  for (int h = 0; h < lane_.config.n_kv_heads; ++h) {
    const Displaced& d = went[static_cast<std::size_t>(h)];
    const SlotState& slots = caches_.head(layer, h).slots;
    lane_.policy->count_nan_scores(d.n_nan);
    HeadRecord& record = lane_.head_record(layer, h);
    record_limits(lane_, layer, h, slots.size(), record);
    record.events.push_back({.pos = d.pos, .w_removed = d.w_removed, .w_target = d.w_target, .score = d.score, .cos = d.cosine});
    if (d.into >= 0) {
      Event& event = record.events.back();
      event.kind = Event::Kind::merge;
      event.into = d.into;
      event.form = name_of(form_);
    } else {
      lost_[head(layer, h)] += d.votes;
    }
    record.cutoff = d.cutoff;
    record.compress_rel_l2 = kNotAvailable;
    record.n_slots = slots.size();
    record.evicted_votes = lost_[head(layer, h)];
  }
}

}  // namespace kvscope
