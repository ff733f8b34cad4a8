// SPDX-License-Identifier: Apache-2.0
// How a lane's queries meet its caches: which keys under which rotation.
#include <algorithm>
#include <iterator>
#include <utility>

#include "measure/perturbation.h"
#include "policy/apply_plan.h"
#include "runtime/lane/lane.h"

namespace kvscope {

namespace {

/// The slots of a segment behind its first n.
KvSegment behind(KvSegment s, int n, std::size_t row_bytes) {
  s.n -= n;
  if (s.rows) {
    s.rows += n;
  } else {
    s.k = static_cast<const std::byte*>(s.k) + row_bytes * static_cast<std::size_t>(n);
    s.v = static_cast<const std::byte*>(s.v) + row_bytes * static_cast<std::size_t>(n);
  }
  return s;
}

}  // namespace

void Lane::measure_changes() {
  std::vector<Changed> changed;
  for (LayerWork& w : work_) std::ranges::move(std::exchange(w.changed, {}), std::back_inserter(changed));
  if (changed.empty()) return;
  const std::size_t group_size = static_cast<std::size_t>(config_.group()) * config_.head_dim;
  std::vector<AttentionJob> jobs;
  for (const Changed& c : changed) {
    const HeadCache& head = layers_[c.layer].heads[c.kv_head];
    HeadJob& job = work(c.layer).heads[c.kv_head];
    job.cache = segments_of(c.layer, c.kv_head, job.sinks);
    job.bias = bias_of(head.slots, policy_->bias());
    jobs.push_back({.slots = job.cache,
                    .q = query_for(head, c.q, job.q),
                    .bias = job.bias.empty() ? nullptr : job.bias.data(),
                    .out = reserve(job.after_o, group_size),
                    .rotate_by_index = head.unrotated,
                    .reads_out = true,
                    .rule = config_.layer(c.layer).logits,
                    .rope = head.rope});
  }
  backend_.attend(jobs);
  std::vector<double> after(group_size);
  for (const Changed& c : changed) {
    backend_.to_double(after, work(c.layer).heads[c.kv_head].after_o.data());
    head_record(c.layer, c.kv_head).compress_rel_l2 = mean_rel_l2(after, c.before, config_.group());
  }
}

/// The query as this cache needs it: with unrotated keys, rotated to the index of its own slot instead of its position.
const void* Lane::query_for(const HeadCache& head, const void* q, Buffer& buffer) const {
  if (!head.unrotated) return q;
  const std::size_t group_size = static_cast<std::size_t>(config_.group()) * config_.head_dim;
  backend_.copy(reserve(buffer, group_size), q, bytes(group_size));
  const std::vector<int> shift(config_.group(), head.kv.n_slots - 1 - record_->position);
  backend_.rope(buffer.data(), config_.group(), 1, shift, head.rope);
  return buffer.data();
}

const void* Lane::queries_for(const Layer& layer, const void* q, Buffer& buffer) const {
  if (std::ranges::none_of(layer.heads, &HeadCache::unrotated)) return q;
  backend_.copy(reserve(buffer, config_.q_dim()), q, bytes(config_.q_dim()));
  std::vector<int> shifts;
  for (const HeadCache& head : layer.heads) shifts.push_back(head.unrotated ? head.kv.n_slots - 1 - record_->position : 0);
  backend_.rope(buffer.data(), config_.n_kv_heads, config_.group(), shifts);
  return buffer.data();
}

void* Lane::reserve(Buffer& buffer, std::size_t elements) const {
  if (buffer.bytes() < bytes(elements)) buffer = backend_.allocate(bytes(elements + elements / 4 + 64));
  return buffer.data();
}

/// The slots of a head as attention sees them. positions=ceiling: sinks that are farther away than the ceiling are seen at that distance; a
/// key rotated to (position - ceiling) gives the same logits as the unrotated key against the query rotated to the ceiling, because only
/// the distance counts.
Lane::SlotSegments Lane::segments_of(int layer, int kv_head, Buffer& buffer) const {
  const HeadCache& head = layers_[layer].heads[kv_head];
  const std::vector<int>& pos = head.slots.pos;
  const int n = head.kv.n_slots;
  const std::size_t row = bytes(config_.head_dim);
  std::vector<int> shift;
  if (policy_->positions() == Positions::ceiling && head.ever_removed && head.rope >= 0 && config_.window(layer) == 0) {
    const int place = pos.back() - policy_->ceiling(layer, kv_head);
    for (int i = 0; i < n && pos[i] < policy_->sinks() && pos[i] < place; ++i) shift.push_back(place - pos[i]);
  }
  const int n_far = static_cast<int>(shift.size());
  if (n_far == 0) return {{slots_of(head.kv)}, 1};
  std::byte* const keys = static_cast<std::byte*>(reserve(buffer, 2 * static_cast<std::size_t>(n_far) * config_.head_dim));
  std::byte* const values = keys + row * n_far;  // with their keys: the rows of a cache need not be in order
  for (int i = 0; i < n_far; ++i) {
    const std::size_t to = row * i, from = row * head.kv.row(i);
    backend_.copy(keys + to, static_cast<const std::byte*>(head.kv.k.data()) + from, row);
    backend_.copy(values + to, static_cast<const std::byte*>(head.kv.v.data()) + from, row);
  }
  backend_.rope(keys, n_far, /*n_heads=*/1, shift, head.rope);
  SlotSegments out{{{keys, values, n_far}, behind(slots_of(head.kv), n_far, row)}, 2};
  if (n == n_far) out.n = 1;
  return out;
}

}  // namespace kvscope
