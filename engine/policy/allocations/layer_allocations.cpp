// SPDX-License-Identifier: Apache-2.0
#include "policy/allocations/layer_allocations.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "policy/rules.h"

namespace kvscope {
namespace {

/// The same budget for all heads of a layer.
std::vector<std::optional<int>> for_all_heads(std::span<const int> layers, int n_kv_heads) {
  std::vector<std::optional<int>> out;
  for (const int c : layers) out.insert(out.end(), static_cast<std::size_t>(n_kv_heads), c);
  return out;
}

}  // namespace

std::vector<double> pyramid_shares(int n_layers, int b, double beta, int limit) {
  double low = b / beta, high = 2.0 * b - low;
  if (high > limit) {
    high = limit;
    low = 2.0 * b - high;
  }
  if (n_layers == 1) return {1.0 * b};
  std::vector<double> shares;
  for (int l = 0; l < n_layers; ++l) shares.push_back(high - l * (high - low) / (n_layers - 1));
  return shares;
}

std::vector<int> PyramidAllocation::all_split(const BudgetShape& shape) const {
  const double c = ratio_ > 0 ? ratio_ * shape.n_prompt : shape.slots;
  double low = c / beta_, high = 2 * c - low;
  if (const int limit = shape.n_prompt - shape.observed; high >= limit) {
    high = limit;
    low = 2 * c - high;
  }
  const bool falls = high <= shape.n_prompt && low <= high && low >= shape.observed;
  std::vector<int> out;
  for (int l = 0; l < shape.n_layers; ++l) {
    const double step = shape.n_layers > 1 ? (high - low) / (shape.n_layers - 1) : 0;
    out.push_back(std::max(1, static_cast<int>(std::nearbyint(falls ? high - l * step : c))));
  }
  return out;
}

std::vector<std::optional<int>> PyramidAllocation::budgets(const BudgetShape& shape) const {
  if (splits_ == Splits::all) return for_all_heads(all_split(shape), shape.n_kv_heads);
  const int b = shape.slots - shape.observed;
  std::vector<int> layers =
      largest_remainder(pyramid_shares(shape.n_layers, b, beta_, shape.n_prompt - shape.observed), shape.n_layers * b);
  for (int& c : layers) c += shape.observed;
  return for_all_heads(layers, shape.n_kv_heads);
}

std::vector<double> decaying_shares(int n_layers, int c, double decay) {
  std::vector<double> shares;
  double product = 1;
  for (int l = 0; l < n_layers; ++l) {
    product *= (1 - decay) * (std::cos(std::numbers::pi * l / n_layers) + 1) / 2 + decay;
    shares.push_back(product);
  }
  const double scale = 1.0 * c * n_layers / std::accumulate(shares.begin(), shares.end(), 0.0);
  for (double& s : shares) s *= scale;
  return shares;
}

std::vector<std::optional<int>> DecayingAllocation::budgets(const BudgetShape& shape) const {
  return for_all_heads(largest_remainder(decaying_shares(shape.n_layers, shape.slots, decay_), shape.n_layers * shape.slots),
                       shape.n_kv_heads);
}

}  // namespace kvscope
