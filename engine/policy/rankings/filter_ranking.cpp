// SPDX-License-Identifier: Apache-2.0
#include "policy/rankings/filter_ranking.h"

#include <fmt/format.h>

#include "core/error.h"
#include "core/vector_math.h"
#include "policy/rankings/rows.h"
#include "policy/text/params.h"

namespace kvscope {

FilterRanking::FilterRanking(std::shared_ptr<const HeadVectors> filters, const ModelConfig& model) : filters_(std::move(filters)) {
  if (!filters_) throw UsageError("file: expected a safetensors file with the filters of this model's KV heads, got none");
  if (filters_->n_layers != model.n_layers || filters_->n_kv_heads != model.n_kv_heads || filters_->width != model.head_dim)
    throw UsageError(fmt::format("file: {}: expected filters [{} layers, {} KV heads, {}], got [{}, {}, {}]: they are made for one model",
                                 quoted(filters_->path), model.n_layers, model.n_kv_heads, model.head_dim, filters_->n_layers,
                                 filters_->n_kv_heads, filters_->width));
}

std::vector<double> FilterRanking::score(const HeadView& head) const {
  const std::vector<double> keys = all_keys(head);
  std::vector<double> score(head.slots->pos.size());
  row_products(keys.data(), filters_->of(head.layer, head.kv_head), score);
  for (double& x : score) x = -x;
  return score;
}

}  // namespace kvscope
