// SPDX-License-Identifier: Apache-2.0
#include "runtime/lane/query_tape.h"

#include <algorithm>

#include "core/error.h"

namespace kvscope {

void QueryTape::set_text(int n_prompt, int n_tokens) {
  n_prompt_ = n_prompt;
  n_tokens_ = n_tokens;
}

void QueryTape::put(int layer, int position, const void* q) {
  const auto place = static_cast<std::size_t>(position);
  if (rows_.size() <= place) rows_.resize(place + 1);
  if (!rows_[place]) rows_[place] = backend_.allocate(layer_bytes() * static_cast<std::size_t>(config_.n_layers));
  backend_.copy(static_cast<std::byte*>(rows_[place].data()) + layer_bytes() * static_cast<std::size_t>(layer), q, layer_bytes());
}

void QueryTape::forget_from(int position) {
  if (rows_.size() > static_cast<std::size_t>(std::max(position, 0))) rows_.resize(static_cast<std::size_t>(std::max(position, 0)));
}

bool QueryTape::knows(int first, int last) const {
  for (int p = first; p <= last; ++p)
    if (static_cast<std::size_t>(p) >= rows_.size() || !rows_[static_cast<std::size_t>(p)]) return false;
  return true;
}

std::vector<int> QueryTape::coming(int position, int horizon) const {
  int first = position + 1, end = std::min(n_tokens_, position + 1 + horizon);
  if (first >= end) {
    first = std::max(0, n_prompt_ - horizon);
    end = n_prompt_;
  }
  std::vector<int> out;
  for (int p = first; p < end; ++p) out.push_back(p);
  return out;
}

const void* QueryTape::query(int layer, int position) const {
  KVSCOPE_ASSERT(knows(position, position));
  return static_cast<const std::byte*>(rows_[static_cast<std::size_t>(position)].data()) + layer_bytes() * static_cast<std::size_t>(layer);
}

}  // namespace kvscope
