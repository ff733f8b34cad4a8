// SPDX-License-Identifier: Apache-2.0
#include "policy/allocations/variance_allocation.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "policy/rules.h"

namespace kvscope {
namespace {

double variance(std::span<const double> x) {
  const auto n = static_cast<double>(x.size());
  const double mean = std::accumulate(x.begin(), x.end(), 0.0) / n;
  double sum = 0;
  for (const double v : x) sum += (v - mean) * (v - mean);
  return sum / n;
}

}  // namespace

std::vector<double> variance_shares(std::span<const std::vector<std::span<const double>>> columns, int c) {
  std::vector<double> shares;
  for (const auto& layer : columns) {
    std::vector<double> var;
    for (const std::span<const double> head : layer) var.push_back(variance(head));
    const auto [low, high] = std::ranges::minmax(var);
    double u = 0;
    if (high > low)
      for (const double v : var) u += (v - low) / (high - low);
    shares.push_back(std::exp(-u / static_cast<double>(var.size())));
  }
  const double total = std::accumulate(shares.begin(), shares.end(), 0.0);
  for (double& s : shares) s = s / total * static_cast<double>(shares.size()) * c;
  return shares;
}

std::vector<std::optional<int>> VarianceAllocation::after_prompt(const BudgetShape& shape, std::span<const HeadView> heads) const {
  std::vector<std::vector<std::span<const double>>> columns(static_cast<std::size_t>(shape.n_layers));
  for (const HeadView& head : heads) columns[static_cast<std::size_t>(head.layer)].push_back(head.slots->sum);
  std::vector<std::optional<int>> budgets;
  for (const int slots : largest_remainder(variance_shares(columns, shape.slots), shape.n_layers * shape.slots))
    budgets.insert(budgets.end(), static_cast<std::size_t>(shape.n_kv_heads), slots);
  return budgets;
}

}  // namespace kvscope
