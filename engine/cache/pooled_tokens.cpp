// SPDX-License-Identifier: Apache-2.0
#include "cache/pooled_tokens.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace kvscope {

namespace {

/// A token's key and value, [head_dim] in backend memory, come to the sums, or leave them: `sign` times.
void add(Backend& backend, const void* k, const void* v, const HeadMaps& head, int sign, PooledTokens& pooled) {
  std::vector<double> key(static_cast<std::size_t>(head.maps->head_dim)), value(key.size());
  backend.to_double(key, k);
  backend.to_double(value, v);
  pooled.n += sign;
  if (pooled.n == 0) {  // not what rounding leaves of them
    pooled = {};
    return;
  }
  const std::vector<double> features = head.maps->of_key(head.layer, head.kv_head, key);
  pooled.weight.resize(features.size());
  pooled.value.resize(features.size() * value.size());
  for (std::size_t r = 0; r < features.size(); ++r) {
    pooled.weight[r] += sign * features[r];
    for (std::size_t i = 0; i < value.size(); ++i) pooled.value[r * value.size() + i] += sign * features[r] * value[i];
  }
}

}  // namespace

void pool_evicted(Backend& backend, const HeadKv& kv, const Plan& plan, const HeadMaps& head, PooledTokens& pooled) {
  const std::size_t row = static_cast<std::size_t>(head.maps->head_dim) * size_of(backend.dtype());
  std::vector<Backend::Area> rows;  // keys and values in turns
  for (const Removal& removal : plan.removals) {
    if (removal.target >= 0) continue;
    const std::size_t at = row * static_cast<std::size_t>(kv.row(removal.slot));
    rows.push_back({kv.k.as<std::byte>() + at, row});
    rows.push_back({kv.v.as<std::byte>() + at, row});
  }
  backend.expect_downloads(rows);
  for (std::size_t i = 0; i < rows.size(); i += 2) add(backend, rows[i].data, rows[i + 1].data, head, 1, pooled);
}

void take_out(Backend& backend, const KvSegment& token, const HeadMaps& head, PooledTokens& pooled) {
  add(backend, token.k, token.v, head, -1, pooled);
}

std::optional<FurtherSlot> slot_of(Backend& backend, const PooledTokens& pooled, const HeadMaps& head, int group, const void* queries) {
  if (pooled.n == 0) return std::nullopt;
  const auto width = static_cast<std::size_t>(head.maps->head_dim), heads = static_cast<std::size_t>(group);
  std::vector<double> q(heads * width);
  backend.to_double(q, queries);
  FurtherSlot out{
      .logits = {}, .values = std::vector<double>(q.size()), .probabilities = backend.allocate(heads * size_of(backend.dtype()))};
  for (std::size_t g = 0; g < heads; ++g) {
    const std::vector<double> features = head.maps->of_query(head.layer, head.kv_head, std::span(q).subspan(g * width, width));
    double mass = 0;
    const auto value = std::span(out.values).subspan(g * width, width);
    for (std::size_t r = 0; r < features.size(); ++r) {
      mass += features[r] * pooled.weight[r];
      for (std::size_t i = 0; i < width; ++i) value[i] += features[r] * pooled.value[r * width + i];
    }
    out.logits.push_back(std::log(std::max(mass, 0.0)));
    for (double& x : value) x = mass > 0 ? x / mass : 0;
  }
  return out;
}

}  // namespace kvscope
