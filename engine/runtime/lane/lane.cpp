// SPDX-License-Identifier: Apache-2.0
#include "runtime/lane/lane.h"

#include <algorithm>
#include <utility>

#include "policy/apply_plan.h"
#include "runtime/lane/layer_window.h"
#include "runtime/lane/page_choice.h"
#include "runtime/stopwatch.h"
#include "slots/slot_prefetch.h"

namespace kvscope {

namespace {

std::vector<float> mean_over_group(std::span<const double> p, int group) {
  const std::size_t n = p.size() / group;
  std::vector<float> out(n);
  for (std::size_t i = 0; i < n; ++i) {
    double sum = 0;
    for (int g = 0; g < group; ++g) sum += p[g * n + i];
    out[i] = static_cast<float>(sum / group);
  }
  return out;
}

const std::byte* at(const void* base, std::size_t offset) { return static_cast<const std::byte*>(base) + offset; }
std::byte* at(void* base, std::size_t offset) { return static_cast<std::byte*>(base) + offset; }

}  // namespace

Lane::Lane(Backend& backend, const Model& model, const Setup& setup, std::unique_ptr<Policy> policy)
    : backend_(backend),
      model_(model),
      config_(model.config()),
      setup_(setup),
      policy_(std::move(policy)),
      layers_(config_.n_layers),
      work_(backend.workers() > 0 ? 1 : config_.n_layers),
      differences_(config_.n_layers) {
  for (LayerWork& w : work_) w.heads.resize(config_.n_kv_heads);
  what_ifs_ = active_what_ifs(setup.spec.edits);
  for (int l = 0; l < config_.n_layers; ++l) {
    Layer& layer = layers_[l];
    for (int h = 0; h < config_.n_kv_heads; ++h) {
      // a budget is held from the first token on: one slot more than it for the step's own token
      const int n = setup.mode == PromptMode::stream ? std::min(room_of(config_, *policy_, l, h).value_or(-1), setup.n_prompt) + 1 : 0;
      layer.heads.push_back({.kv = backend.make_kv(n), .slots = {}, .rope = config_.rope_of(l, setup.n_prompt)});
    }
    if (keeps_history()) layer.shadow.emplace(backend, config_.n_kv_heads);
  }
}

void Lane::begin_step(int position) {
  record_ = std::make_shared<StepRecord>();
  record_->step = static_cast<int>(steps.size());
  record_->position = position;
  record_->heads.resize(static_cast<std::size_t>(config_.n_layers) * config_.n_kv_heads);
  hidden.clear();
  compress_ms_before = compress_ms;
  if (finishes_at_the_end()) lookups_ = std::make_unique<KeyLookups>(backend_, config_.head_dim);
}

void Lane::load_prompt(PromptRun& prompt, const ProbeRun& probes, const std::function<void()>& layer_done) {
  const int n = prompt.size(), group = config_.group();
  std::vector<double> o(config_.q_dim());
  {
    // budgets may depend on all layers: they are known before the first layer is compressed
    const Stopwatch watch(compress_ms);
    std::vector<HeadView> views;
    for (int l = 0; l < config_.n_layers; ++l) {
      for (int h = 0; h < config_.n_kv_heads; ++h) {
        views.push_back({.slots = &layers_[l].heads[h].slots, .keys = nullptr, .layer = l, .kv_head = h});
      }
    }
    backend_.for_each(static_cast<int>(views.size()), [&](int i) {
      const int l = i / config_.n_kv_heads, h = i % config_.n_kv_heads;
      PromptStats stats = prompt.stats(l, h, policy_->needs(l));
      stats.probed = probes.found(policy_->needs(), l, h);
      kvscope::load_prompt(layers_[l].heads[h].slots, policy_->needs(l), group, stats);
    });
    policy_->after_prompt(views);
    survey_prompt(
        backend_, model_, prompt, *policy_, [this](int l) { return std::span(layers_[l].heads); },
        [this](int l, int h) { return pinned(l, h, record_->step); });
  }
  compress_ms += probes.ms(policy_->needs());
  record_->probe_tokens = probes.tokens(policy_->needs());
  for (int l = 0; l < config_.n_layers; ++l) {
    Layer& layer = layers_[l];
    if (layer.shadow) layer.shadow = prompt.history(l);
    if (wants_value_norms()) layer.value_l1 = prompt.value_norms(l);
    for (int p = 0; p < n && policy_->reload() > 0; ++p) keep_query(l, prompt.query(l, p));
    fill_caches(backend_, prompt, l, layer.heads);
    for (int h = 0; h < config_.n_kv_heads; ++h) {
      const HeadCache& head = layer.heads[h];
      HeadRecord& record = head_record(l, h);
      if (setup_.record.captures) record.attended = head.slots.pos;
      if (setup_.record.measures.local) set_unharmed(record);  // the prompt itself ran uncompressed
      if (setup_.record.captures) {
        const auto p_last = prompt.last_attention(l).subspan(static_cast<std::size_t>(h) * group * n, static_cast<std::size_t>(group) * n);
        record.attention = mean_over_group(p_last, group);
        if (removes()) record.reference_attention = record.attention;
        work(l).heads[h].p_seen = p_last;
      }
    }
    backend_.to_double(o, prompt.last_output(l));
    compress(l, &prompt, prompt.last_query(l), o);
    fit(l);
    layer_done();
  }
  count_time();
  prompt_compress_ms = compress_ms;
  logits = prompt.logits();
}

void Lane::fit(int layer) {
  for (int h = 0; h < config_.n_kv_heads; ++h) {
    HeadCache& head = layers_[layer].heads[h];
    if (!head.ever_changed && config_.window(layer) == 0) continue;
    head.kv = backend_.copy_kv(head.kv, std::max(head.kv.n_slots, room_of(config_, *policy_, layer, h).value_or(0)) + 1);
  }
}

void Lane::before_rotation(const LayerRows& rows, int row) {
  if (!policy_->needs(rows.layer).key_norm) return;
  Buffer& norms = work(rows.layer).key_norms;
  if (!norms) norms = backend_.allocate(sizeof(double) * static_cast<std::size_t>(config_.n_kv_heads));
  backend_.row_norms(at(rows.k, bytes(config_.kv_dim()) * row), config_.n_kv_heads, config_.head_dim, norms.as<double>(),
                     /*reads_out=*/true);
}

void Lane::prepare(const LayerRows& rows, int row, std::vector<AttentionJob>& jobs) {
  const int position = record_->position, group = config_.group();
  const std::size_t head_bytes = bytes(config_.head_dim), group_bytes = head_bytes * group;
  const void* k = at(rows.k, bytes(config_.kv_dim()) * row);
  const void* v = at(rows.v, bytes(config_.kv_dim()) * row);
  void* q = at(rows.q, bytes(config_.q_dim()) * row);
  void* out = at(rows.out, bytes(config_.q_dim()) * row);
  Layer& layer = layers_[rows.layer];
  if (writes_tape_) tape_->put(rows.layer, position, q);
  if (policy_->reload() > 0) keep_query(rows.layer, q);
  if (layer.shadow) layer.shadow->append(k, v, head_bytes);
  LayerWork& work = this->work(rows.layer);
  if (layer.shadow) reserve(work.o_full, config_.q_dim());
  const StatNeeds& needs = policy_->needs(rows.layer);
  append_rows(layer, k, v);
  const void* const queries = queries_for(backend_, config_, layer.heads, q, position, work.q);
  for (int h = 0; h < config_.n_kv_heads; ++h) {
    HeadCache& head = layer.heads[h];
    append_slot(head.slots, needs, group, position);

    if (policy_->every_step() && !finishes_at_the_end()) prefetch(head.slots);

    HeadJob& job = work.heads[h];
    const int n = head.slots.size();
    job.cache = slots_seen(rows.layer, h, job.sinks);
    job.bias = bias_of(head.slots, policy_->bias());
    job.unread = choose_pages(backend_, config_, *policy_, rows.layer, head, at(q, group_bytes * h), setup_.record.captures, job.bias,
                              head_record(rows.layer, h));
    job.removed_before = head.ever_changed || !job.unread.empty();
    jobs.push_back({.slots = job.cache,
                    .q = at(queries, group_bytes * h),
                    .bias = job.bias.empty() ? nullptr : job.bias.data(),
                    .out = at(out, group_bytes * h),
                    .probabilities = reads_attention(rows.layer) ? reserve(job.p, static_cast<std::size_t>(group) * n) : nullptr,
                    .logits = reads_logits() ? reserve(job.z, static_cast<std::size_t>(group) * n) : nullptr,
                    .rotate_by_index = head.unrotated,
                    .reads_out = setup_.record.measures.local,
                    .rule = config_.layer(rows.layer).logits,
                    .rope = head.rope});
    if (compares() && job.removed_before) {
      const int first = first_seen(rows.layer);
      job.shadow = layer.shadow->segments(h, position + 1, first);
      jobs.push_back({.slots = job.shadow,
                      .q = at(q, group_bytes * h),
                      .out = at(work.o_full.data(), group_bytes * h),
                      .probabilities = reserve(job.p_full, static_cast<std::size_t>(group) * (position + 1 - first)),
                      .reads_out = setup_.record.measures.local,
                      .rule = config_.layer(rows.layer).logits});
    }
  }
}

void Lane::append_rows(Layer& layer, const void* k, const void* v) {
  if (std::ranges::any_of(layer.heads, &HeadCache::unrotated)) {
    reserve(key_, config_.kv_dim());
    backend_.copy(key_.data(), k, bytes(config_.kv_dim()));
    k = key_.data();
    std::vector<int> back;
    for (const HeadCache& head : layer.heads) back.push_back(head.unrotated ? -record_->position : 0);
    backend_.rope(key_.data(), config_.n_kv_heads, /*n_heads=*/1, back, layer.heads.front().rope);
  }
  std::vector<HeadKv*> caches;
  for (HeadCache& head : layer.heads) caches.push_back(&head.kv);
  backend_.append_rows(caches, k, v);
}

void Lane::finish(const LayerRows& rows, int row) {
  std::vector<double> o;
  if (setup_.record.measures.local) {
    o.resize(config_.q_dim());
    backend_.to_double(o, at(rows.out, bytes(config_.q_dim()) * row));
  }
  {
    const Stopwatch watch(work(rows.layer).ms);
    read_key_norms(rows.layer);
    for (int h = 0; h < config_.n_kv_heads && reads_steps(); ++h) observe(rows.layer, h);
  }
  for (int h = 0; h < config_.n_kv_heads; ++h) record_attention(rows.layer, h);
  if (setup_.record.measures.local) measure(rows.layer, o);
  compress(rows.layer, /*prompt=*/nullptr, at(rows.q, bytes(config_.q_dim()) * row), o);
}

void Lane::read_key_norms(int layer) {
  if (!policy_->needs(layer).key_norm) return;
  std::vector<double> norms(config_.n_kv_heads);
  backend_.download(norms.data(), work(layer).key_norms.data(), sizeof(double) * norms.size());
  for (int h = 0; h < config_.n_kv_heads; ++h) layers_[layer].heads[h].slots.key_norm.back() = norms[h];
}

void Lane::observe(int layer, int h) {
  HeadCache& head = layers_[layer].heads[h];
  HeadJob& job = work(layer).heads[h];
  const std::size_t count = static_cast<std::size_t>(config_.group()) * head.slots.size();
  if (reads_attention(layer)) {
    job.host_p.resize(count);
    backend_.to_double(job.host_p, job.p.data());
    set_unread(job.host_p, config_.group(), job.unread);
  }
  job.host_z.clear();
  if (reads_logits()) {
    job.host_z.resize(count);
    backend_.to_double(job.host_z, job.z.data());
  }
  if (setup_.record.measures.prediction) measure_prediction(head.slots, job.host_z, head_record(layer, h));
  observe_step(head.slots, policy_->needs(layer), config_.group(), job.host_p, job.host_z);
}

void Lane::record_attention(int layer, int h) {
  HeadRecord& record = head_record(layer, h);
  const HeadCache& head = layers_[layer].heads[h];
  HeadJob& job = work(layer).heads[h];
  job.p_seen = {};
  if (setup_.record.captures) record.attended = head.slots.pos;
  if (setup_.record.captures) record.attention = mean_over_group(job.host_p, config_.group());
  if (compares() && job.removed_before) {
    job.host_p_full.resize(static_cast<std::size_t>(config_.group()) * (record_->position + 1 - first_seen(layer)));
    backend_.to_double(job.host_p_full, job.p_full.data());
    if (config_.window(layer) > 0) job.host_p_full = over_all_tokens(job.host_p_full, config_.group(), first_seen(layer));
    if (setup_.record.captures) {
      record.reference_attention = mean_over_group(job.host_p_full, config_.group());
      job.p_seen = job.host_p_full;
    }
  } else if (setup_.record.captures && !job.removed_before && removes() && config_.window(layer) > 0) {
    job.host_p_full = over_all_tokens(job.host_p, config_.group(), first_seen(layer));
    record.reference_attention = mean_over_group(job.host_p_full, config_.group());
  } else if (setup_.record.captures && !job.removed_before && removes()) {
    record.reference_attention = record.attention;  // nothing removed yet: the cache is the full history
    job.p_seen = job.host_p;
  }
}

CacheSizes Lane::sizes() const {
  return sizes_of(*policy_, config_, backend_.dtype(), [this](int l) { return std::span(layers_[l].heads); });
}

}  // namespace kvscope
