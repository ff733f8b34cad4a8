// SPDX-License-Identifier: Apache-2.0
#include "runtime/lane/slot_segments.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace kvscope {

namespace {

std::size_t row_bytes(const Backend& backend, std::size_t elements) { return elements * size_of(backend.dtype()); }

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

void* reserve(Backend& backend, Buffer& buffer, std::size_t elements) {
  if (buffer.bytes() < row_bytes(backend, elements)) buffer = backend.allocate(row_bytes(backend, elements + elements / 4 + 64));
  return buffer.data();
}

const void* query_for(Backend& backend, const ModelConfig& config, const HeadCache& head, const void* q, int position, Buffer& buffer) {
  if (!head.unrotated) return q;
  const std::size_t group_size = static_cast<std::size_t>(config.group()) * config.head_dim;
  backend.copy(reserve(backend, buffer, group_size), q, row_bytes(backend, group_size));
  const std::vector<int> shift(config.group(), head.kv.n_slots - 1 - position);
  backend.rope(buffer.data(), config.group(), 1, shift, head.rope);
  return buffer.data();
}

const void* queries_for(Backend& backend, const ModelConfig& config, std::span<const HeadCache> heads, const void* q, int position,
                        Buffer& buffer) {
  if (std::ranges::none_of(heads, &HeadCache::unrotated)) return q;
  backend.copy(reserve(backend, buffer, config.q_dim()), q, row_bytes(backend, config.q_dim()));
  std::vector<int> shifts;
  for (const HeadCache& head : heads) shifts.push_back(head.unrotated ? head.kv.n_slots - 1 - position : 0);
  backend.rope(buffer.data(), config.n_kv_heads, config.group(), shifts);
  return buffer.data();
}

SlotSegments segments_of(Backend& backend, const ModelConfig& config, const HeadCache& head, const SinkView& sinks, Buffer& buffer) {
  const std::vector<int>& pos = head.slots.pos;
  const int n = head.kv.n_slots;
  const std::size_t row = row_bytes(backend, config.head_dim);
  std::vector<int> shift;
  if (sinks.ceiling && head.ever_changed && head.rope >= 0) {
    const int place = pos.back() - *sinks.ceiling;
    for (int i = 0; i < n && pos[i] < sinks.n && pos[i] < place; ++i) shift.push_back(place - pos[i]);
  }
  const int n_far = static_cast<int>(shift.size());
  if (n_far == 0) return {{slots_of(head.kv)}, 1};
  std::byte* const keys = static_cast<std::byte*>(reserve(backend, buffer, 2 * static_cast<std::size_t>(n_far) * config.head_dim));
  std::byte* const values = keys + row * n_far;  // with their keys: the rows of a cache need not be in order
  for (int i = 0; i < n_far; ++i) {
    const std::size_t to = row * i, from = row * head.kv.row(i);
    backend.copy(keys + to, static_cast<const std::byte*>(head.kv.k.data()) + from, row);
    backend.copy(values + to, static_cast<const std::byte*>(head.kv.v.data()) + from, row);
  }
  backend.rope(keys, n_far, /*n_heads=*/1, shift, head.rope);
  SlotSegments out{{{keys, values, n_far}, behind(slots_of(head.kv), n_far, row)}, 2};
  if (n == n_far) out.n = 1;
  return out;
}

}  // namespace kvscope
