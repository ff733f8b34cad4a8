// SPDX-License-Identifier: Apache-2.0
// What the coming queries of the full-cache lane see in this lane's caches and in its full history.
#include <limits>

#include "policy/apply_plan.h"
#include "runtime/lane/lane.h"

namespace kvscope {

namespace {

constexpr double kUnseen = -std::numeric_limits<double>::infinity();

}  // namespace

/// One head of one lane at the step in work. Buffers live as long as one look.
class Lane::HeadHindsight final : public Hindsight {
 public:
  HeadHindsight(const Lane& lane, int layer, int head) : lane_(lane), layer_(layer), head_(head) {}

  View look() const override {
    const std::vector<int> positions = lane_.tape_->coming(lane_.record_->position, lane_.policy_->needs().coming_queries);
    View view;
    view.n_queries = static_cast<int>(positions.size());
    view.group = lane_.config_.group();
    view.dim = lane_.config_.dim;
    attend(positions, view);
    project_values(view);
    return view;
  }

 private:
  const Layer& layer() const { return lane_.layers_[static_cast<std::size_t>(layer_)]; }
  const HeadCache& cache() const { return layer().heads[static_cast<std::size_t>(head_)]; }

  void attend(const std::vector<int>& positions, View& view) const {
    Backend& backend = lane_.backend_;
    const HeadCache& head = cache();
    const int n = head.slots.size(), n_seen = layer().shadow->size();
    const std::size_t width = static_cast<std::size_t>(lane_.config_.head_dim), group = static_cast<std::size_t>(view.group);
    const std::size_t group_bytes = lane_.bytes(group * width), n_queries = positions.size(), row = group * static_cast<std::size_t>(n);
    Buffer sinks, z = backend.allocate(lane_.bytes(n_queries * row)), unused = backend.allocate(group_bytes * n_queries),
                  full = backend.allocate(group_bytes * n_queries);
    const SlotSegments slots = lane_.slots_seen(layer_, head_, sinks);
    const std::vector<double> bias = bias_of(head.slots, lane_.policy_->bias());
    std::vector<Buffer> rotated(n_queries);
    std::vector<std::vector<KvSegment>> history(n_queries);
    std::vector<AttentionJob> jobs;
    for (std::size_t i = 0; i < n_queries; ++i) {
      const auto* q =
          static_cast<const std::byte*>(lane_.tape_->query(layer_, positions[i])) + group_bytes * static_cast<std::size_t>(head_);
      jobs.push_back({.slots = slots,
                      .q = query_for(backend, lane_.config_, head, q, lane_.record_->position, rotated[i]),
                      .out = static_cast<std::byte*>(unused.data()) + group_bytes * i,
                      .logits = static_cast<std::byte*>(z.data()) + lane_.bytes(row * i),
                      .rotate_by_index = head.unrotated,
                      .rule = lane_.config_.layer(layer_).logits,
                      .rope = head.rope});
      history[i] = layer().shadow->segments(head_, std::min(n_seen, positions[i] + 1));
      jobs.push_back({.slots = history[i],
                      .q = q,
                      .out = static_cast<std::byte*>(full.data()) + group_bytes * i,
                      .rule = lane_.config_.layer(layer_).logits});
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
    const std::size_t dim = static_cast<std::size_t>(view.dim);
    view.outputs.resize(n_queries * group * dim);
    std::vector<double> rows(n_queries * dim);
    for (std::size_t g = 0; g < group; ++g) {
      project(static_cast<const std::byte*>(full.data()) + lane_.bytes(g * width), view.group * lane_.config_.head_dim, static_cast<int>(g),
              static_cast<int>(n_queries), rows);
      for (std::size_t i = 0; i < n_queries; ++i) std::copy_n(rows.data() + i * dim, dim, view.outputs.data() + (i * group + g) * dim);
    }
  }

  void project_values(View& view) const {
    const int n = cache().slots.size();
    const std::size_t size = static_cast<std::size_t>(n) * static_cast<std::size_t>(view.dim);
    view.values.resize(size * static_cast<std::size_t>(view.group));
    const HeadKv ordered = lane_.backend_.clone_kv(cache().kv);
    for (int g = 0; g < view.group; ++g) {
      project(ordered.v.data(), lane_.config_.head_dim, g, n, std::span(view.values).subspan(size * static_cast<std::size_t>(g), size));
    }
  }

  void project(const void* x, int stride, int g, int rows, std::span<double> out) const {
    lane_.backend_.wo_rows(x, stride, lane_.model_.layers[static_cast<std::size_t>(layer_)].wo, head_ * lane_.config_.group() + g, rows,
                           out);
  }

  const Lane& lane_;
  int layer_, head_;
};

std::vector<std::unique_ptr<Hindsight>> Lane::hindsight(int layer) const {
  std::vector<std::unique_ptr<Hindsight>> out;
  if (policy_->needs().coming_queries == 0) return out;
  KVSCOPE_ASSERT(tape_);
  for (int h = 0; h < config_.n_kv_heads; ++h) out.push_back(std::make_unique<HeadHindsight>(*this, layer, h));
  return out;
}

}  // namespace kvscope
