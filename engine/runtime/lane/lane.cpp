// SPDX-License-Identifier: Apache-2.0
#include "runtime/lane/lane.h"

#include <utility>

#include "policy/apply_plan.h"
#include "runtime/lane/layer_view.h"
#include "runtime/stopwatch.h"

namespace kvscope {

Lane::Lane(Backend& backend, const Model& model, const Setup& setup, std::unique_ptr<Policy> policy)
    : context_(backend, model, setup, std::move(policy)),
      caches_(context_),
      attention_(context_, caches_),
      measures_(context_, caches_),
      compression_(context_, caches_, attention_, measures_),
      backend_caches_(context_, caches_) {}

void Lane::begin_step(int position) {
  const ModelConfig& config = context_.config;
  context_.record = std::make_shared<StepRecord>();
  context_.record->step = static_cast<int>(steps.size());
  context_.record->position = position;
  context_.record->heads = std::exchange(next_heads_, {});
  context_.record->heads.resize(static_cast<std::size_t>(config.n_layers) * config.n_kv_heads);
  hidden.clear();
  compress_ms_before = compress_ms;
  compression_.begin_step();
  backend_caches_.begin_step();
}

void Lane::load_prompt(PromptRun& prompt, const ProbeRun& probes, const std::function<void()>& layer_done) {
  const ModelConfig& config = context_.config;
  read_prompt(prompt, probes);
  std::vector<double> o(config.q_dim());
  for (int l = 0; l < config.n_layers; ++l) {
    caches_.load(prompt, l);
    attention_.read_prompt(prompt, l);
    for (int h = 0; h < config.n_kv_heads; ++h) {
      HeadRecord& record = context_.head_record(l, h);
      if (context_.setup.record.measures.local) measures_.set_unharmed(record);  // the prompt itself ran uncompressed
      if (context_.setup.record.captures && context_.record->probe_tokens > 0)
        context_.record->probed.push_back(probes.attention(context_.policy->needs(), l, h));
    }
    context_.backend.to_double(o, prompt.last_output(l));
    compression_.compress(l, &prompt, prompt.last_query(l), o);
    caches_.fit(l);
    layer_done();
  }
  if (context_.policy->next()) {
    context_.policy = context_.policy->next()->clone();
    for (int l = 0; l < config.n_layers; ++l) watch_anew(prompt, l, context_.policy->needs(l), caches_.heads(l));
  }
  count_time();
  prompt_compress_ms = compress_ms;
  logits = prompt.logits();
}

void Lane::read_prompt(const PromptRun& prompt, const ProbeRun& probes) {
  const ModelConfig& config = context_.config;
  Policy& policy = *context_.policy;
  {
    // budgets may depend on all layers: they are known before the first layer is compressed
    const Stopwatch watch(compress_ms);
    std::vector<HeadView> views;
    for (int l = 0; l < config.n_layers; ++l)
      for (int h = 0; h < config.n_kv_heads; ++h)
        views.push_back({.slots = &caches_.head(l, h).slots, .keys = nullptr, .layer = l, .kv_head = h});
    context_.backend.for_each(static_cast<int>(views.size()), [&](int i) {
      const int l = i / config.n_kv_heads, h = i % config.n_kv_heads;
      PromptStats stats = prompt.stats(l, h, policy.needs(l));
      stats.probed = probes.found(policy.needs(), l, h);
      HeadCache& cache = caches_.head(l, h);
      kvscope::load_prompt(cache.slots, policy.needs(l), config.group(), stats);
      cache.learned.assign(stats.learned.begin(), stats.learned.end());
    });
    policy.after_prompt(views);
    survey_prompt(
        context_.backend, context_.model, prompt, policy, [this](int l) { return caches_.heads(l); },
        [this](int l, int h) { return context_.edits.pinned(l, h, context_.record->step); }, context_.setup.record.captures);
  }
  context_.record->probe_ms = probes.ms(policy.needs());
  compress_ms += context_.record->probe_ms;
  context_.record->probe_tokens = probes.tokens(policy.needs());
}

void Lane::prepare(const LayerRows& rows, int row, std::vector<AttentionJob>& jobs) {
  if (context_.writes_tape) context_.tape->put(rows.layer, context_.record->position, context_.at(rows.q, context_.config.q_dim(), row));
  if (backend_caches_.on()) return backend_caches_.prepare(rows, row, jobs);
  caches_.append(rows, row);
  attention_.prepare(rows, row, jobs);
}

void Lane::finish(const LayerRows& rows, int row) {
  read_heads(rows.layer, 0, context_.config.n_kv_heads);
  finish_read(rows, row);
}

void Lane::finish_read(const LayerRows& rows, int row) {
  if (backend_caches_.on()) return backend_caches_.finish(rows.layer);
  const std::size_t q_dim = context_.config.q_dim();
  const bool local = context_.setup.record.measures.local;
  std::vector<double> o(local ? q_dim : 0);
  if (local) context_.backend.to_double(o, context_.at(rows.out, q_dim, row));
  attention_.count_time(rows.layer);
  if (local) measures_.measure(rows.layer, attention_.layer(rows.layer), o);
  compression_.compress(rows.layer, /*prompt=*/nullptr, context_.at(rows.q, q_dim, row), o);
}

void Lane::end_step() {
  measures_.end_step(hidden);
  compression_.end_step();
  count_time();
}

void Lane::prepare_next_step() {
  next_heads_.resize(context_.record->heads.size());
  compression_.forget_last_step();
}

void Lane::count_time() {
  for (double& ms : context_.ms) compress_ms += std::exchange(ms, 0.0);
}

}  // namespace kvscope
