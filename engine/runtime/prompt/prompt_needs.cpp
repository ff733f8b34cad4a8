// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "runtime/prompt/prompt_run.h"

namespace kvscope {

void PromptNeeds::add(const StatNeeds& needs) {
  Columns& c = columns[static_cast<int>(needs.group)];
  for_each_statistic([&]<class S>(S) {
    if constexpr (requires { S::prompt_sum(StatParams()); }) {
      if (!wants<S>(needs)) return;
      const PromptSum sum = S::prompt_sum(needs.params());
      const auto place = std::ranges::lower_bound(c.sums, sum);
      if (place == c.sums.end() || *place != sum) c.sums.insert(place, sum);
    }
  });
  c.rows = std::max(c.rows, needs.prompt_rows());
  c.hits = std::max(c.hits, needs.hits);
  key_norm |= needs.key_norm;
  if (needs.scorer && std::ranges::find(scorers, needs.scorer) == scorers.end()) scorers.push_back(needs.scorer);
  queries = std::max(queries, needs.prompt_queries ? kAllQueries : needs.coming_queries);
  if (needs.outside && std::ranges::find(outside, *needs.outside) == outside.end()) outside.push_back(*needs.outside);
  z_rows = std::max(z_rows, std::max(needs.z_rows, needs.z_now ? 1 : 0));
  if (needs.probe && std::ranges::find(probes, *needs.probe) == probes.end()) probes.push_back(*needs.probe);
}

double PromptNeeds::bytes_of_rows(const ModelConfig& c, DType dtype, int n) const {
  double a_layer = static_cast<double>(c.n_heads) * (std::min(z_rows, n) + 1);  // and the last row's attention
  for (const Columns& of : columns) a_layer += static_cast<double>(c.n_kv_heads) * std::min(of.rows, n);
  const double of_queries = static_cast<double>(size_of(dtype)) * c.q_dim() * std::min(queries, n);
  return (static_cast<double>(sizeof(double)) * a_layer * n + of_queries) * c.n_layers;
}

bool PromptNeeds::Columns::covers_sums(const Columns& other) const { return std::ranges::includes(sums, other.sums); }

bool PromptNeeds::covers_sums(const PromptNeeds& other) const {
  for (std::size_t i = 0; i < columns.size(); ++i)
    if (!columns[i].covers_sums(other.columns[i])) return false;
  const auto known = [&](const StatNeeds::Outside& o) { return std::ranges::find(outside, o) != outside.end(); };
  const auto scored = [&](const auto& scorer) { return std::ranges::find(scorers, scorer) != scorers.end(); };
  return key_norm >= other.key_norm && value_norms >= other.value_norms && std::ranges::all_of(other.outside, known) &&
         std::ranges::all_of(other.scorers, scored);
}

void PromptNeeds::take_last_rows(const PromptNeeds& other) {
  for (std::size_t i = 0; i < columns.size(); ++i) {
    columns[i].rows = other.columns[i].rows;
    columns[i].hits = other.columns[i].hits;
  }
  z_rows = other.z_rows;
  queries = other.queries;
}

bool PromptNeeds::covers(const PromptNeeds& other) const {
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const Columns &a = columns[i], &b = other.columns[i];
    if (a.rows < b.rows || a.hits < b.hits) return false;
  }
  return z_rows >= other.z_rows && queries >= other.queries && covers_sums(other);
}

}  // namespace kvscope
