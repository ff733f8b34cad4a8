// SPDX-License-Identifier: Apache-2.0
// KeepKV's periodic lossless compression: from time to time the cache is made anew from the full copy outside.
#include "runtime/lane/lane.h"
#include "runtime/stopwatch.h"
#include "slots/slot_updates.h"

namespace kvscope {

void Lane::keep_query(int layer, const void* q) {
  const std::size_t size = bytes(config_.q_dim());
  auto row = std::make_shared<Buffer>(backend_.allocate(size));
  backend_.copy(row->data(), q, size);
  layers_[layer].queries.push_back(std::move(row));
}

bool Lane::reload(int layer_idx) {
  const int every = policy_->reload(), step = record_->step;
  if (every == 0 || step == 0 || step % every != 0 || config_.window(layer_idx) > 0) return false;
  const Stopwatch watch(work(layer_idx).ms);
  Layer& layer = layers_[layer_idx];
  const StatNeeds& needs = policy_->needs(layer_idx);
  PromptRun again(backend_, model_);
  PromptNeeds wanted;
  wanted.add(needs);
  again.replay(layer_idx, *layer.shadow, layer.queries, wanted);
  const int n = layer.shadow->size();
  for (int h = 0; h < config_.n_kv_heads; ++h) {
    HeadCache& head = layer.heads[h];
    HeadRecord& record = head_record(layer_idx, h);
    std::size_t i = 0;
    for (int pos = 0; pos < n; ++pos) {
      if (i < head.slots.pos.size() && head.slots.pos[i] == pos)
        ++i;
      else
        record.events.push_back({.kind = Event::Kind::restore, .pos = pos});
    }
    HeadCache full{.kv = backend_.make_kv(n + 1), .slots = {}, .ever_changed = head.ever_changed, .rope = head.rope};
    for (const KvSegment& s : layer.shadow->segments(h)) backend_.append_kv(full.kv, s.k, s.v, s.n);
    kvscope::load_prompt(full.slots, needs, config_.group(), again.stats(layer_idx, h, needs));
    head = std::move(full);
  }
  return true;
}

}  // namespace kvscope
