// SPDX-License-Identifier: Apache-2.0
#include "runtime/lane/layer_window.h"

#include <algorithm>

namespace kvscope {

std::optional<int> room_of(const ModelConfig& model, const Policy& policy, int layer, int kv_head) {
  if (const int window = model.window(layer); window > 0) return window;
  return policy.budget(layer, kv_head);
}

std::vector<Plan> leave_window(std::span<const HeadCache> heads, int first_kept) {
  std::vector<Plan> plans(heads.size());
  for (std::size_t h = 0; h < heads.size(); ++h) {
    const std::vector<int>& pos = heads[h].slots.pos;
    for (std::size_t i = 0; i < pos.size() && pos[i] < first_kept; ++i) plans[h].removals.push_back({.slot = static_cast<int>(i)});
  }
  return plans;
}

std::vector<int> apply_in_layer(const LayerConfig& layer, HeadCache& cache, const StatNeeds& needs, const Plan& plan) {
  const bool removed_before = cache.ever_changed;
  std::vector<int> gone = apply_to_slots(cache, needs, plan);
  if (layer.window > 0) cache.ever_changed = removed_before;
  return gone;
}

std::vector<double> over_all_tokens(std::span<const double> p, int group, int first) {
  const std::size_t n = p.size() / static_cast<std::size_t>(group), all = static_cast<std::size_t>(first) + n;
  std::vector<double> out(all * static_cast<std::size_t>(group));
  for (std::size_t g = 0; g < static_cast<std::size_t>(group); ++g)
    std::ranges::copy(p.subspan(g * n, n), out.begin() + static_cast<std::ptrdiff_t>((g + 1) * all - n));
  return out;
}

}  // namespace kvscope
