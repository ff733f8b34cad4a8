// SPDX-License-Identifier: Apache-2.0
#include "policy/allocations/curve_allocation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <utility>

#include "core/error.h"
#include "policy/text/params.h"

namespace kvscope {
namespace {

/// Of n slots in every head of a layer: together the nearest whole number, what is over the whole slots of each to the largest rest.
std::vector<int> kept_by_shares(std::span<const double> removed, int n) {
  const std::size_t heads = removed.size();
  std::vector<double> ideal;
  for (const double share : removed) ideal.push_back((1 - share) * n);
  std::vector<int> kept(ideal.begin(), ideal.end());
  const int least = static_cast<int>(heads), most = least * n;
  const int total = std::clamp(static_cast<int>(std::nearbyint(std::accumulate(ideal.begin(), ideal.end(), 0.0))), least, most);
  const int rest = total - std::accumulate(kept.begin(), kept.end(), 0);
  std::vector<std::size_t> order(heads);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater<>(), [&](std::size_t h) { return ideal[h] - kept[h]; });
  for (std::size_t i = 0; i < heads && static_cast<int>(i) < rest; ++i) ++kept[order[i]];
  for (int& k : kept) k = std::clamp(k, 1, n);
  return kept;
}

}  // namespace

CurveAllocation::CurveAllocation(std::shared_ptr<const BudgetCurves> curves, const ModelConfig& model, double ratio)
    : curves_(std::move(curves)), ratio_(ratio) {
  if (!curves_) throw UsageError("curves: expected a safetensors file with the budget curves of this model, got none");
  if (curves_->n_layers != model.n_layers || curves_->n_kv_heads != model.n_kv_heads)
    throw UsageError(
        fmt::format("curves: {}: expected budget curves [{} layers, {} KV heads], got [{}, {}]: they are measured for one model",
                    quoted(curves_->path), model.n_layers, model.n_kv_heads, curves_->n_layers, curves_->n_kv_heads));
}

std::vector<std::optional<int>> CurveAllocation::budgets(const BudgetShape& shape) const {
  const double removed = ratio_ >= 0 ? 1 - ratio_ : 1 - static_cast<double>(shape.slots) / shape.n_prompt;
  const int percent = std::clamp(static_cast<int>(std::nearbyint(100 * removed)), 1, BudgetCurves::kShares);
  std::vector<std::optional<int>> out;
  for (int l = 0; l < shape.n_layers; ++l)
    for (const int kept : kept_by_shares(curves_->removed(percent, l), shape.n_prompt)) out.emplace_back(kept);
  return out;
}

}  // namespace kvscope
