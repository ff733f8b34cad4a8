// SPDX-License-Identifier: Apache-2.0
// Layers that the model itself made local: each query sees the newest tokens only, with any policy and without one.
#include <algorithm>

#include "runtime/lane/lane.h"

namespace kvscope {

int Lane::first_seen(int layer, int position) const {
  const int window = config_.window(layer);
  return window > 0 ? std::max(0, position + 1 - window) : 0;
}

std::optional<int> Lane::room(int layer, int kv_head) const {
  if (const int window = config_.window(layer); window > 0) return window;
  return policy_->budget(layer, kv_head);
}

std::vector<Plan> Lane::leave_window(int layer) const {
  std::vector<Plan> plans(static_cast<std::size_t>(config_.n_kv_heads));
  const int first = first_kept(layer);
  for (std::size_t h = 0; h < plans.size(); ++h) {
    const std::vector<int>& pos = layers_[static_cast<std::size_t>(layer)].heads[h].slots.pos;
    for (int i = 0; i < static_cast<int>(pos.size()) && pos[static_cast<std::size_t>(i)] < first; ++i)
      plans[h].removals.push_back({.slot = i});
  }
  return plans;
}

std::vector<double> Lane::over_all_tokens(int layer, std::span<const double> p) const {
  const auto group = static_cast<std::size_t>(config_.group()), first = static_cast<std::size_t>(first_seen(layer, record_->position)),
             n = p.size() / group;
  std::vector<double> out((first + n) * group);
  for (std::size_t g = 0; g < group; ++g)
    std::ranges::copy(p.subspan(g * n, n), out.begin() + static_cast<std::ptrdiff_t>(g * (first + n) + first));
  return out;
}

}  // namespace kvscope
