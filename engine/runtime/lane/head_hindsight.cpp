// SPDX-License-Identifier: Apache-2.0
#include "runtime/lane/head_hindsight.h"

#include <algorithm>
#include <limits>

#include "policy/apply_plan.h"

namespace kvscope {

namespace {

constexpr double kUnseen = -std::numeric_limits<double>::infinity();

}  // namespace

Hindsight::View HeadHindsight::look() const {
  const std::vector<int> positions = lane_.tape->coming(lane_.record->position, lane_.policy->needs().coming_queries);
  View view;
  view.n_queries = static_cast<int>(positions.size());
  view.group = lane_.config.group();
  view.dim = lane_.config.dim;
  attend(positions, view);
  project_values(view);
  return view;
}

void HeadHindsight::attend(const std::vector<int>& positions, View& view) const {
  Backend& backend = lane_.backend;
  const HeadCache& head = caches_.head(layer_, head_);
  const History& history = *caches_.history(layer_);
  const int n = head.slots.size(), n_seen = history.size();
  const std::size_t group_bytes = lane_.bytes(lane_.group_size()), n_queries = positions.size(),
                    row = static_cast<std::size_t>(view.group) * static_cast<std::size_t>(n);
  Buffer sinks, z = backend.allocate(lane_.bytes(n_queries * row)), unused = backend.allocate(group_bytes * n_queries),
                full = backend.allocate(group_bytes * n_queries);
  const SlotSegments slots = caches_.seen(layer_, head_, sinks);
  const std::vector<double> bias = bias_of(head.slots, lane_.policy->bias());
  std::vector<Buffer> rotated(n_queries);
  std::vector<std::vector<KvSegment>> seen(n_queries);
  std::vector<AttentionJob> jobs;
  for (std::size_t i = 0; i < n_queries; ++i) {
    const int query = static_cast<int>(i);
    const auto* q = lane_.at(lane_.tape->query(layer_, positions[i]), lane_.group_size(), head_);
    jobs.push_back({.slots = slots,
                    .q = query_for(backend, lane_.config, head, q, lane_.record->position, rotated[i]),
                    .out = lane_.at(unused.data(), lane_.group_size(), query),
                    .logits = lane_.at(z.data(), row, query),
                    .rotate_by_index = head.unrotated,
                    .rule = lane_.config.layer(layer_).logits,
                    .rope = head.rope});
    seen[i] = history.segments(head_, std::min(n_seen, positions[i] + 1));
    jobs.push_back(
        {.slots = seen[i], .q = q, .out = lane_.at(full.data(), lane_.group_size(), query), .rule = lane_.config.layer(layer_).logits});
  }
  backend.attend(jobs);
  view.logits.resize(n_queries * row);
  backend.to_double(view.logits, z.data());
  for (std::size_t i = 0; i < view.logits.size(); ++i) {
    const std::size_t slot = i % static_cast<std::size_t>(n);
    if (head.slots.pos[slot] > positions[i / row])
      view.logits[i] = kUnseen;
    else if (!bias.empty())
      view.logits[i] += bias[slot];
  }
  project_outputs(full, view);
}

void HeadHindsight::project_outputs(const Buffer& full, View& view) const {
  const auto dim = static_cast<std::size_t>(view.dim), group = static_cast<std::size_t>(view.group),
             n_queries = static_cast<std::size_t>(view.n_queries), width = static_cast<std::size_t>(lane_.config.head_dim);
  view.outputs.resize(n_queries * group * dim);
  std::vector<double> rows(n_queries * dim);
  for (std::size_t g = 0; g < group; ++g) {
    project(lane_.at(full.data(), width, static_cast<int>(g)), view.group * lane_.config.head_dim, static_cast<int>(g), view.n_queries,
            rows);
    for (std::size_t i = 0; i < n_queries; ++i) std::copy_n(rows.data() + i * dim, dim, view.outputs.data() + (i * group + g) * dim);
  }
}

void HeadHindsight::project_values(View& view) const {
  const HeadCache& head = caches_.head(layer_, head_);
  const int n = head.slots.size();
  const std::size_t size = static_cast<std::size_t>(n) * static_cast<std::size_t>(view.dim);
  view.values.resize(size * static_cast<std::size_t>(view.group));
  const HeadKv ordered = lane_.backend.clone_kv(head.kv);
  for (int g = 0; g < view.group; ++g)
    project(ordered.v.data(), lane_.config.head_dim, g, n, std::span(view.values).subspan(size * static_cast<std::size_t>(g), size));
}

void HeadHindsight::project(const void* x, int stride, int g, int rows, std::span<double> out) const {
  const Weight& wo = lane_.model.layers[static_cast<std::size_t>(layer_)].wo;
  lane_.backend.wo_rows(x, stride, wo, head_ * lane_.config.group() + g, rows, out);
}

std::vector<std::unique_ptr<Hindsight>> hindsight(const LaneContext& lane, const LaneCaches& caches, int layer) {
  std::vector<std::unique_ptr<Hindsight>> out;
  if (lane.policy->needs().coming_queries == 0) return out;
  KVSCOPE_ASSERT(lane.tape);
  for (int h = 0; h < lane.config.n_kv_heads; ++h) out.push_back(std::make_unique<HeadHindsight>(lane, caches, layer, h));
  return out;
}

}  // namespace kvscope
