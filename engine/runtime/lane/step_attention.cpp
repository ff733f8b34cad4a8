// SPDX-License-Identifier: Apache-2.0
#include "runtime/lane/step_attention.h"

#include <numeric>
#include <utility>

#include "measure/perturbation.h"
#include "policy/apply_plan.h"
#include "runtime/lane/hidden_scores.h"
#include "runtime/lane/layer_window.h"
#include "runtime/lane/page_choice.h"
#include "runtime/stopwatch.h"
#include "slots/slot_prefetch.h"

namespace kvscope {

namespace {

double mean(std::span<const double> x) { return std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(x.size()); }

/// What the policy expected of the slots against what came.
void measure_prediction(const Policy& policy, const SlotState& slots, std::span<const double> z, int group, HeadRecord& record) {
  const std::vector<double> lshat = policy.predicted_log_scores(slots);
  if (lshat.empty()) return;
  const PredictorError error = predictor_error(lshat, z, slots.extra, group);
  record.predictor_error = error.log;
  record.predictor_rel_error = error.relative;
}

}  // namespace

StepAttention::StepAttention(LaneContext& lane, LaneCaches& caches) : lane_(lane), caches_(caches), layers_(lane.n_works()) {
  for (Layer& layer : layers_) layer.heads.resize(lane.config.n_kv_heads);
}

void StepAttention::read_prompt(const PromptRun& prompt, int layer) {
  if (!lane_.setup.record.captures) return;
  const int group = lane_.config.group();
  const std::size_t size = static_cast<std::size_t>(group) * prompt.size();
  for (int h = 0; h < lane_.config.n_kv_heads; ++h) {
    HeadRecord& record = lane_.head_record(layer, h);
    record.attended = caches_.head(layer, h).slots.pos;
    const auto p_last = prompt.last_attention(layer).subspan(size * h, size);
    record.attention = mean_over_group(p_last, group);
    if (lane_.removes()) record.reference_attention = record.attention;
    layers_[layer].heads[h].p_seen = p_last;
  }
}

void StepAttention::before_rotation(const LayerRows& rows, int row) {
  if (!lane_.policy->needs(rows.layer).key_norm) return;
  const int n = lane_.config.n_kv_heads;
  Buffer& norms = layers_[rows.layer].key_norms;
  if (!norms) norms = lane_.backend.allocate(sizeof(double) * n);
  lane_.backend.row_norms(lane_.at(rows.k, lane_.config.kv_dim(), row), n, lane_.config.head_dim, norms.as<double>(), /*reads_out=*/true);
}

void StepAttention::open_slots(int l) {
  constexpr std::size_t kApart = 8;  // numbers: rows of different heads begin where memory is read well
  Layer& layer = layers_[l];
  const int group = lane_.config.group();
  const auto size_of_head = [&](int h) {
    return (static_cast<std::size_t>(group) * caches_.head(l, h).slots.size() + kApart - 1) / kApart * kApart;
  };
  std::size_t all = 0;
  for (int h = 0; h < lane_.config.n_kv_heads; ++h) {
    append_slot(caches_.head(l, h).slots, lane_.policy->needs(l), group, lane_.record->position);
    all += size_of_head(h);
  }
  const auto lay_out = [&](bool reads, Buffer& buffer, void* Head::*rows) {
    auto* at = reads ? static_cast<std::byte*>(lane_.reserve(buffer, all)) : nullptr;
    for (int h = 0; h < lane_.config.n_kv_heads; ++h) {
      layer.heads[h].*rows = at;
      if (reads) at += lane_.bytes(size_of_head(h));
    }
  };
  lay_out(lane_.reads_attention(l), layer.p, &Head::p);
  lay_out(lane_.reads_logits(), layer.z, &Head::z);
}

void StepAttention::prepare(const LayerRows& rows, int row, std::vector<AttentionJob>& jobs) {
  const ModelConfig& config = lane_.config;
  const LaneSetup& setup = lane_.setup;
  const int position = lane_.record->position, group = config.group();
  const std::size_t group_size = lane_.group_size();
  void* const q = lane_.at(rows.q, config.q_dim(), row);
  void* const out = lane_.at(rows.out, config.q_dim(), row);
  Layer& layer = layers_[rows.layer];
  const History* const history = caches_.history(rows.layer);
  if (history) lane_.reserve(layer.o_full, config.q_dim());
  open_slots(rows.layer);
  read_learned(rows, row);
  const void* const queries = queries_for(lane_.backend, config, caches_.heads(rows.layer), q, position, layer.q);
  if (lane_.policy->maps()) {  // what the heads' further slots are read by
    const Backend::Area all{queries, lane_.bytes(static_cast<std::size_t>(config.q_dim()))};
    lane_.backend.expect_downloads(std::span(&all, 1));
  }
  for (int h = 0; h < config.n_kv_heads; ++h) {
    HeadCache& head = caches_.head(rows.layer, h);
    if (lane_.policy->every_step() && !lane_.finishes_at_the_end()) prefetch(head.slots);

    Head& job = layer.heads[h];
    job.cache = caches_.seen(rows.layer, h, job.sinks);
    job.bias = bias_of(head.slots, lane_.policy->bias());
    job.unread = choose_pages(lane_.backend, config, *lane_.policy, rows.layer, head, lane_.at(q, group_size, h), setup.record.captures,
                              job.bias, lane_.head_record(rows.layer, h));
    job.further = caches_.further(rows.layer, h, lane_.at(queries, group_size, h));
    job.removed_before = head.ever_changed || !job.unread.empty();
    jobs.push_back({.slots = job.cache,
                    .q = lane_.at(queries, group_size, h),
                    .bias = job.bias.empty() ? nullptr : job.bias.data(),
                    .out = lane_.at(out, group_size, h),
                    .probabilities = job.p,
                    .logits = job.z,
                    .rotate_by_index = head.unrotated,
                    .reads_out = setup.record.measures.local,
                    .rule = config.layer(rows.layer).logits,
                    .rope = head.rope,
                    .further = job.further ? &*job.further : nullptr});
    if (lane_.compares() && job.removed_before) {
      const int first = lane_.first_seen(rows.layer);
      job.history = history->segments(h, position + 1, first);
      jobs.push_back({.slots = job.history,
                      .q = lane_.at(q, group_size, h),
                      .out = lane_.at(layer.o_full.data(), group_size, h),
                      .probabilities = lane_.reserve(job.p_full, static_cast<std::size_t>(group) * (position + 1 - first)),
                      .reads_out = setup.record.measures.local,
                      .rule = config.layer(rows.layer).logits});
    }
  }
}

void StepAttention::read(int layer, int first, int n) {
  thread_local std::vector<double> p, z;  // near, for rows that nobody looks at again
  const bool keeps = lane_.setup.record.captures;
  read_key_norms(layer, first, n);
  for (int h = first; h < first + n; ++h) {
    Head& job = layers_[layer].heads[h];
    const auto swap = [&] {
      job.host_p.swap(p);
      job.host_z.swap(z);
    };
    if (!keeps) swap();
    if (lane_.reads_steps()) {
      read_rows(layer, h);
      observe(layer, h);
    }
    record(layer, h);
    if (!keeps) swap();
  }
}

void StepAttention::count_time(int layer) {
  for (Head& head : layers_[layer].heads) lane_.ms[layer] += std::exchange(head.ms, 0.0);
}

void StepAttention::read_key_norms(int layer, int first, int n) {
  if (!lane_.policy->needs(layer).key_norm) return;
  std::vector<double> norms(n);
  lane_.backend.download(norms.data(), layers_[layer].key_norms.as<double>() + first, sizeof(double) * norms.size());
  for (int h = first; h < first + n; ++h) caches_.head(layer, h).slots.key_norm.back() = norms[h - first];
}

void StepAttention::read_rows(int layer, int h) {
  Head& job = layers_[layer].heads[h];
  const std::size_t count = static_cast<std::size_t>(lane_.config.group()) * caches_.head(layer, h).slots.size();
  if (lane_.reads_attention(layer)) {
    job.host_p.resize(count);
    lane_.backend.to_double(job.host_p, job.p);
    set_unread(job.host_p, lane_.config.group(), job.unread);
  }
  job.host_z.clear();
  if (!lane_.reads_logits()) return;
  job.host_z.resize(count);
  lane_.backend.to_double(job.host_z, job.z);
}

void StepAttention::read_learned(const LayerRows& rows, int row) {
  const StatNeeds& needs = lane_.policy->needs(rows.layer);
  if (!needs.learned || !lane_.reads_steps()) return;
  const void* const hidden = lane_.at(rows.in, lane_.config.dim, row);
  const std::vector<double> scores = hidden_scores(lane_.backend, *needs.scorer, rows.layer, hidden, 1);
  for (int h = 0; h < lane_.config.n_kv_heads; ++h) {
    HeadCache& head = caches_.head(rows.layer, h);
    head.slots.learned.back() = scores[h];
    head.learned.resize(static_cast<std::size_t>(lane_.record->position), kNotAvailable);
    head.learned.push_back(scores[h]);
  }
}

void StepAttention::observe(int layer, int h) {
  HeadCache& head = caches_.head(layer, h);
  Head& job = layers_[layer].heads[h];
  const Stopwatch watch(job.ms);
  const int group = lane_.config.group();
  if (lane_.setup.record.measures.prediction) measure_prediction(*lane_.policy, head.slots, job.host_z, group, lane_.head_record(layer, h));
  observe_step(head.slots, lane_.policy->needs(layer), group, job.host_p, job.host_z);
}

void StepAttention::record(int layer, int h) {
  HeadRecord& record = lane_.head_record(layer, h);
  Head& job = layers_[layer].heads[h];
  const bool captures = lane_.setup.record.captures, windowed = lane_.config.window(layer) > 0;
  const int group = lane_.config.group(), first = lane_.first_seen(layer);
  job.p_seen = {};
  if (captures) record.attended = caches_.head(layer, h).slots.pos;
  if (captures) record.attention = mean_over_group(job.host_p, group);
  if (job.further) {
    std::vector<double> shares(static_cast<std::size_t>(group));
    lane_.backend.to_double(shares, job.further->probabilities.data());
    record.pooled_share = mean(shares);
  }
  if (lane_.compares() && job.removed_before) {
    job.host_p_full.resize(static_cast<std::size_t>(group) * (lane_.record->position + 1 - first));
    lane_.backend.to_double(job.host_p_full, job.p_full.data());
    if (windowed) job.host_p_full = over_all_tokens(job.host_p_full, group, first);
    if (captures) {
      record.reference_attention = mean_over_group(job.host_p_full, group);
      job.p_seen = job.host_p_full;
    }
  } else if (captures && !job.removed_before && lane_.removes() && windowed) {
    job.host_p_full = over_all_tokens(job.host_p, group, first);
    record.reference_attention = mean_over_group(job.host_p_full, group);
  } else if (captures && !job.removed_before && lane_.removes()) {
    record.reference_attention = record.attention;  // nothing removed yet: the cache is the full history
    job.p_seen = job.host_p;
  }
}

}  // namespace kvscope
