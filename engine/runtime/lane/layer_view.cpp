// SPDX-License-Identifier: Apache-2.0
#include "runtime/lane/layer_view.h"

#include <algorithm>
#include <utility>

#include "runtime/lane/group_queries.h"
#include "slots/slot_updates.h"

namespace kvscope {

void LayerView::show(Backend& backend, const Model& model, int layer, std::span<HeadCache> caches, const PromptRun* prompt,
                     const StatNeeds& needs, KeyLookups* lookups, bool explains) {
  const ModelConfig& config = model.config();
  asked = group_queries(backend, config, prompt, needs, layer);
  geometry.reserve(caches.size());
  for (std::size_t h = 0; h < caches.size(); ++h) {
    geometry.emplace_back(backend, caches, static_cast<int>(h), model.layers[static_cast<std::size_t>(layer)].wo, config.head_dim, lookups);
    heads.push_back({.slots = &caches[h].slots,
                     .keys = &geometry.back(),
                     .layer = layer,
                     .kv_head = static_cast<int>(h),
                     .pinned = pins[h],
                     .hindsight = coming.empty() ? nullptr : coming[h].get(),
                     .queries = asked[h].get(),
                     .explains = explains});
  }
}

void fill_caches(Backend& backend, const PromptRun& prompt, int layer, std::span<HeadCache> caches, int room) {
  std::vector<RowsJob> copies;
  std::size_t row_bytes = 0;
  for (std::size_t h = 0; h < caches.size(); ++h) {
    HeadKv& kv = caches[h].kv = backend.make_kv(std::max(prompt.size(), room));
    row_bytes = kv.k.bytes() / static_cast<std::size_t>(kv.capacity);
    for (const KvSegment& s : prompt.history(layer).segments(static_cast<int>(h))) {
      const std::size_t offset = row_bytes * static_cast<std::size_t>(kv.n_slots);
      copies.push_back({kv.k.as<std::byte>() + offset, s.k, s.n});
      copies.push_back({kv.v.as<std::byte>() + offset, s.v, s.n});
      kv.n_slots += s.n;
    }
  }
  backend.copy_rows(copies, row_bytes, /*stride=*/1);
}

void watch_anew(const PromptRun& prompt, int layer, const StatNeeds& needs, std::span<HeadCache> caches) {
  for (std::size_t h = 0; h < caches.size(); ++h) {
    SlotState &left = caches[h].slots, watched;
    const PromptStats stats = prompt.stats(layer, static_cast<int>(h), needs);
    load_prompt(watched, needs, prompt.group(), stats);
    caches[h].learned.assign(stats.learned.begin(), stats.learned.end());
    std::vector<int> gone;
    for (int pos = 0; pos < prompt.size(); ++pos)
      if (!std::ranges::binary_search(left.pos, pos)) gone.push_back(pos);
    remove_slots(watched, gone);
    // what stands for what is no statistic
    watched.votes = std::move(left.votes);
    watched.extra = std::move(left.extra);
    watched.united = std::move(left.united);
    watched.evicted = std::move(left.evicted);
    watched.evicted_votes = left.evicted_votes;
    left = std::move(watched);
  }
}

void survey_prompt(Backend& backend, const Model& model, const PromptRun& prompt, Policy& policy,
                   const std::function<std::span<HeadCache>(int)>& caches, const std::function<std::vector<int>(int, int)>& pins,
                   bool explains) {
  if (!policy.surveys()) return;
  const ModelConfig& config = model.config();
  for (int l = 0; l < config.n_layers; ++l) {
    if (config.window(l) > 0) continue;
    fill_caches(backend, prompt, l, caches(l));
    KeyLookups lookups(backend, config.head_dim);
    LayerView view;
    for (int h = 0; h < config.n_kv_heads; ++h) view.pins.push_back(pins(l, h));
    view.show(backend, model, l, caches(l), &prompt, policy.needs(l), backend.workers() > 0 ? nullptr : &lookups, explains);
    policy.survey(view.heads);
    for (HeadCache& cache : caches(l)) cache.kv = backend.make_kv(0);  // the room of one layer at a time
  }
  policy.after_survey();
}

}  // namespace kvscope
