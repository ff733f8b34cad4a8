// SPDX-License-Identifier: Apache-2.0
#include "runtime/lane/lane_caches.h"

#include <algorithm>
#include <utility>

#include "policy/apply_plan.h"
#include "runtime/lane/layer_view.h"
#include "runtime/lane/layer_window.h"
#include "runtime/lane/value_l1.h"
#include "runtime/stopwatch.h"
#include "slots/slot_updates.h"

namespace kvscope {

LaneCaches::LaneCaches(LaneContext& lane) : lane_(lane), layers_(static_cast<std::size_t>(lane.config.n_layers)) {
  const LaneSetup& setup = lane.setup;
  for (int l = 0; l < lane.config.n_layers; ++l) {
    Layer& layer = layers_[static_cast<std::size_t>(l)];
    for (int h = 0; h < lane.config.n_kv_heads; ++h) {
      // a budget is held from the first token on: one slot more than it for the step's own token
      const int n =
          setup.mode == PromptMode::stream ? std::min(room_of(lane.config, *lane.policy, l, h).value_or(-1), setup.n_prompt) + 1 : 0;
      layer.heads.push_back({.kv = lane.backend.make_kv(n), .slots = {}, .rope = lane.config.rope_of(l, setup.n_prompt)});
    }
    if (lane.keeps_history()) layer.history.emplace(lane.backend, lane.config.n_kv_heads);
  }
}

const History* LaneCaches::history(int layer) const {
  const std::optional<History>& history = layers_[static_cast<std::size_t>(layer)].history;
  return history ? &*history : nullptr;
}

SlotSegments LaneCaches::seen(int layer, int kv_head, Buffer& buffer) const {
  SinkView sinks;
  if (lane_.policy->positions() == Positions::ceiling && lane_.config.window(layer) == 0)
    sinks = {lane_.policy->ceiling(layer, kv_head), lane_.policy->sinks()};
  return segments_of(lane_.backend, lane_.config, head(layer, kv_head), sinks, buffer);
}

std::optional<FurtherSlot> LaneCaches::further(int layer, int kv_head, const void* queries) const {
  return slot_of(lane_.backend, head(layer, kv_head).pooled, lane_.maps_of(layer, kv_head), lane_.config.group(), queries);
}

CacheSizes LaneCaches::sizes() const {
  return sizes_of(*lane_.policy, lane_.config, lane_.backend.dtype(), [this](int l) { return heads(l); });
}

void LaneCaches::load(const PromptRun& prompt, int l) {
  Layer& layer = layers_[static_cast<std::size_t>(l)];
  if (layer.history) layer.history = prompt.history(l);
  if (lane_.keeps_value_norms()) layer.value_l1 = prompt.value_norms(l);
  for (int p = 0; p < prompt.size() && lane_.policy->reload() > 0; ++p) keep_query(layer, prompt.query(l, p));
  // a cache that keeps everything is not copied in the very first step
  const bool grows = !lane_.removes() && lane_.config.window(l) == 0;
  fill_caches(lane_.backend, prompt, l, layer.heads, grows ? grown_capacity(prompt.size(), prompt.size() + 1) : 0);
}

void LaneCaches::append(const LayerRows& rows, int row) {
  const auto kv_dim = static_cast<std::size_t>(lane_.config.kv_dim());
  append_history(rows, row);
  append_rows(layers_[static_cast<std::size_t>(rows.layer)], lane_.at(rows.k, kv_dim, row), lane_.at(rows.v, kv_dim, row));
}

void LaneCaches::append_history(const LayerRows& rows, int row) {
  Layer& layer = layers_[static_cast<std::size_t>(rows.layer)];
  const auto kv_dim = static_cast<std::size_t>(lane_.config.kv_dim());
  if (lane_.policy->reload() > 0) keep_query(layer, lane_.at(rows.q, static_cast<std::size_t>(lane_.config.q_dim()), row));
  if (layer.history)
    layer.history->append(lane_.at(rows.k, kv_dim, row), lane_.at(rows.v, kv_dim, row),
                          lane_.bytes(static_cast<std::size_t>(lane_.config.head_dim)));
}

void LaneCaches::keep_query(Layer& layer, const void* q) {
  const std::size_t size = lane_.bytes(static_cast<std::size_t>(lane_.config.q_dim()));
  auto row = std::make_shared<Buffer>(lane_.backend.allocate(size));
  lane_.backend.copy(row->data(), q, size);
  layer.queries.push_back(std::move(row));
}

void LaneCaches::append_rows(Layer& layer, const void* k, const void* v) {
  if (std::ranges::any_of(layer.heads, &HeadCache::unrotated)) {
    const auto kv_dim = static_cast<std::size_t>(lane_.config.kv_dim());
    lane_.backend.copy(lane_.reserve(key_, kv_dim), k, lane_.bytes(kv_dim));
    k = key_.data();
    std::vector<int> back;
    for (const HeadCache& head : layer.heads) back.push_back(head.unrotated ? -lane_.record->position : 0);
    lane_.backend.rope(key_.data(), lane_.config.n_kv_heads, /*n_heads=*/1, back, layer.heads.front().rope);
  }
  std::vector<HeadKv*> caches;
  for (HeadCache& head : layer.heads) caches.push_back(&head.kv);
  lane_.backend.append_rows(caches, k, v);
}

void LaneCaches::append_value_norms(std::span<const LayerRows> layers, int row) {
  std::vector<ValueRows> values;
  for (const LayerRows& rows : layers)
    values.push_back({.wo = &lane_.model.layers[static_cast<std::size_t>(rows.layer)].wo,
                      .v = lane_.at(rows.v, static_cast<std::size_t>(lane_.config.kv_dim()), row),
                      .rows = 1,
                      .out = &layers_[static_cast<std::size_t>(rows.layer)].value_l1});
  append_value_l1(lane_.backend, lane_.config, values);
}

void LaneCaches::fit(int layer) {
  for (int h = 0; h < lane_.config.n_kv_heads; ++h) {
    HeadCache& cache = head(layer, h);
    if (!cache.ever_changed && lane_.config.window(layer) == 0) continue;
    const int room = room_of(lane_.config, *lane_.policy, layer, h).value_or(0);
    cache.kv = lane_.backend.copy_kv(cache.kv, std::max(cache.kv.n_slots, room) + 1);
  }
}

bool LaneCaches::reload(int layer_idx) {
  const int every = lane_.policy->reload(), step = lane_.record->step;
  if (every == 0 || step == 0 || step % every != 0 || lane_.config.window(layer_idx) > 0) return false;
  const Stopwatch watch(lane_.ms[layer_idx]);
  Layer& layer = layers_[static_cast<std::size_t>(layer_idx)];
  const StatNeeds& needs = lane_.policy->needs(layer_idx);
  PromptRun again(lane_.backend, lane_.model);
  PromptNeeds wanted;
  wanted.add(needs);
  again.replay(layer_idx, *layer.history, layer.queries, wanted);
  for (int h = 0; h < lane_.config.n_kv_heads; ++h) {
    HeadCache full = full_cache(layer, h, lane_.head_record(layer_idx, h));
    load_prompt(full.slots, needs, lane_.config.group(), again.stats(layer_idx, h, needs));
    head(layer_idx, h) = std::move(full);
  }
  return true;
}

HeadCache LaneCaches::full_cache(const Layer& layer, int kv_head, HeadRecord& record) const {
  const HeadCache& now = layer.heads[static_cast<std::size_t>(kv_head)];
  const std::vector<int>& there = now.slots.pos;
  const int n = layer.history->size();
  std::size_t i = 0;
  for (int pos = 0; pos < n; ++pos) {
    if (i < there.size() && there[i] == pos)
      ++i;
    else
      record.events.push_back({.kind = Event::Kind::restore, .pos = pos});
  }
  HeadCache full{.kv = lane_.backend.make_kv(n + 1), .slots = {}, .ever_changed = now.ever_changed, .rope = now.rope};
  for (const KvSegment& s : layer.history->segments(kv_head)) lane_.backend.append_kv(full.kv, s.k, s.v, s.n);
  return full;
}

std::vector<LaneCheckpoint::Layer> LaneCaches::checkpoint() const {
  std::vector<LaneCheckpoint::Layer> out;
  for (int l = 0; l < lane_.config.n_layers; ++l) {
    const Layer& layer = layers_[static_cast<std::size_t>(l)];
    LaneCheckpoint::Layer& saved = out.emplace_back();
    for (const HeadCache& head : layer.heads) {
      const bool elsewhere = !head.ever_changed && lane_.config.window(l) == 0 && (layer.history.has_value() || !lane_.removes());
      saved.heads.push_back(clone_without_rows(head));
      saved.has_rows.push_back(!elsewhere);
      if (!elsewhere) saved.heads.back().kv = lane_.backend.clone_kv(head.kv);
    }
  }
  return out;
}

void LaneCaches::restore(const LaneCaches& other, const LaneCheckpoint& saved) {
  const auto n_tokens = static_cast<std::size_t>(saved.n_tokens), n_heads = static_cast<std::size_t>(lane_.config.n_heads);
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    const Layer& from = other.layers_[l];
    Layer& to = layers_[l];
    to.history = from.history;
    if (to.history) to.history->truncate(saved.n_tokens);
    if (!from.queries.empty()) to.queries.assign(from.queries.begin(), from.queries.begin() + saved.n_tokens);
    if (!from.value_l1.empty())
      to.value_l1.assign(from.value_l1.begin(), from.value_l1.begin() + static_cast<std::ptrdiff_t>(n_tokens * n_heads));
    for (std::size_t h = 0; h < from.heads.size(); ++h) {
      const HeadCache& kept = saved.layers[l].heads[h];
      to.heads[h] = clone_without_rows(kept);
      to.heads[h].kv =
          saved.layers[l].has_rows[h] ? lane_.backend.clone_kv(kept.kv) : first_rows(from, to, static_cast<int>(h), saved.n_tokens);
    }
  }
}

HeadKv LaneCaches::first_rows(const Layer& from, const Layer& to, int kv_head, int n) const {
  HeadKv out = lane_.backend.make_kv(n);
  if (to.history) {
    for (const KvSegment& s : to.history->segments(kv_head)) lane_.backend.append_kv(out, s.k, s.v, s.n);
  } else {
    const HeadKv& rows = from.heads[static_cast<std::size_t>(kv_head)].kv;
    KVSCOPE_ASSERT(rows.order.empty() && rows.n_slots >= n);
    lane_.backend.append_kv(out, rows.k.data(), rows.v.data(), n);
  }
  return out;
}

}  // namespace kvscope
