// SPDX-License-Identifier: Apache-2.0
#include "policy/allocations/measured_heads_allocation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/error.h"
#include "policy/allocations/head_allocations.h"
#include "policy/rankings/rows.h"

namespace kvscope {
namespace {

constexpr int kPositions = 500;  // as kvpress has it

/// Mean of every `stride`-th row of `width` numbers, from the row `first` on.
std::vector<double> mean_row(std::span<const double> rows, std::size_t width, std::size_t first, std::size_t stride) {
  std::vector<double> mean(width, 0.0);
  std::size_t n = 0;
  for (std::size_t row = first; row * width < rows.size(); row += stride, ++n)
    for (std::size_t i = 0; i < width; ++i) mean[i] += rows[row * width + i];
  for (double& x : mean) x /= static_cast<double>(n);
  return mean;
}

}  // namespace

double cumulated_attention(std::span<const double> query, std::span<const double> key, std::span<const double> rotations, int n) {
  const std::size_t count = static_cast<std::size_t>(n), dims = rotations.size() / count;
  std::vector<double> q(query.begin(), query.end()), k, p(count);
  rotate(q, rotations.last(dims));
  for (std::size_t j = 0; j < count; ++j) {
    k.assign(key.begin(), key.end());
    rotate(k, rotations.subspan(j * dims, dims));
    p[j] = std::inner_product(q.begin(), q.end(), k.begin(), 0.0) / std::sqrt(static_cast<double>(q.size()));
  }
  softmax(p);
  double area = 0;
  for (std::size_t j = 0; j < count; ++j) area += p[j] * static_cast<double>(count - j) / static_cast<double>(count);
  return area;
}

HeadNotes MeasuredHeadsAllocation::note(const HeadDecision& head) const {
  KVSCOPE_ASSERT(head.view.queries && head.view.keys);
  const std::vector<double> keys = head.view.keys->unrotated_keys(), queries = head.view.queries->rows(/*rotated=*/false);
  const std::vector<double> rotations = head.view.queries->rotations(0, kPositions);
  const std::size_t n = head.slots().pos.size(), width = keys.size() / n, group = queries.size() / keys.size();
  const std::vector<double> key = mean_row(keys, width, 0, 1);
  double score = 0;
  for (std::size_t g = 0; g < group; ++g)
    score += cumulated_attention(mean_row(queries, width, g, group), key, rotations, kPositions) / static_cast<double>(group);
  if (head.view.terms) head.view.note("head's score", std::vector(n, score));
  return {.numbers = {score}};
}

std::string MeasuredHeadsAllocation::equation() const {
  return fmt::format(
      "head's score, one for all its slots: attention of its mean query at the last of {} positions to its mean key at each, summed up to "
      "every position, mean; the lowest {:.0f} % of the heads keep the first and the newest slots",
      kPositions, 100 * sparsity_);
}

std::vector<std::optional<int>> MeasuredHeadsAllocation::after_survey(const BudgetShape&, std::span<const HeadNotes> heads) const {
  std::vector<double> scores;
  for (const HeadNotes& head : heads) scores.insert(scores.end(), head.numbers.begin(), head.numbers.end());
  const std::vector<std::optional<int>> split = streaming_budgets(scores, sparsity_, kept_);
  std::vector<std::optional<int>> out;
  auto next = split.begin();
  for (const HeadNotes& head : heads) out.push_back(head.numbers.empty() ? std::nullopt : *next++);
  return out;
}

}  // namespace kvscope
