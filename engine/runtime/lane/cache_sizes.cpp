// SPDX-License-Identifier: Apache-2.0
#include "runtime/lane/cache_sizes.h"

#include <cmath>

namespace kvscope {
namespace {

double row_bytes(const ModelConfig& config, DType dtype) { return static_cast<double>(2 * size_of(dtype)) * config.head_dim; }

/// Of the keys and values of a head as if stored, or with the bounds of its pages; not available where there are rows alone.
double bytes_of(const Policy& policy, const ModelConfig& config, DType dtype, int layer, const HeadCache& head) {
  if (config.window(layer) > 0) return kNotAvailable;
  if (const PageReading* reading = policy.reading(); reading && !reading->reads_all(layer))  // of a page a row of least and one of most
    return row_bytes(config, dtype) * (head.slots.size() + head.slots.size() / reading->page());
  if (policy.maps()) {
    const int numbers = policy.maps()->width * (config.head_dim + 1);  // of the sums, whatever is in them
    return row_bytes(config, dtype) * head.slots.size() + static_cast<double>(size_of(dtype)) * numbers;
  }
  if (!policy.storage()) return kNotAvailable;
  return policy.storage()->bytes(count_stored(head.slots), config.head_dim, static_cast<double>(size_of(dtype)));
}

}  // namespace

CacheSizes sizes_of(const Policy& policy, const ModelConfig& config, DType dtype,
                    const std::function<std::span<const HeadCache>(int layer)>& heads) {
  const double row = row_bytes(config, dtype);
  CacheSizes out;
  double slots = 0, otherwise = 0;
  for (int l = 0; l < config.n_layers; ++l)
    for (const HeadCache& head : heads(l)) {
      const double bytes = bytes_of(policy, config, dtype, l, head), more = std::isnan(bytes) ? 0 : bytes - row * head.slots.size();
      slots += head.slots.size();
      otherwise += more;
      out.allocated += static_cast<double>(head.kv.k.bytes() + head.kv.v.bytes() + head.kv.order_in_backend.bytes()) + more;
    }
  out.slots = slots / (static_cast<double>(config.n_layers) * config.n_kv_heads);
  out.in_full = slots * row;
  out.kv_bytes = out.in_full + otherwise;
  return out;
}

void describe_stored(const Policy& policy, const ModelConfig& config, DType dtype, const HeadCache& head, bool captures,
                     HeadRecord& record) {
  record.kv_bytes = bytes_of(policy, config, dtype, record.layer, head);
  for (std::size_t i = 0; i < head.slots.stored.size() && captures; ++i) {
    record.stored_block.push_back(head.slots.stored[i].block);
    record.key_error.push_back(head.slots.stored[i].key_error);
    record.value_error.push_back(head.slots.stored[i].value_error);
  }
}

}  // namespace kvscope
