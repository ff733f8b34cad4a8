// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "core/config.h"
#include "runtime/model/model.h"
#include "runtime/prompt/prompt_run.h"
#include "snapshot/step_record.h"

namespace kvscope {

/// Of every head of a prompt that has kept all its queries.
std::vector<QueryCloud> query_clouds(Backend& backend, const Model& model, const PromptRun& prompt);

/// What one KV head's queries and keys are, before rotation, and how a layer makes scores of them.
struct QueriesAndKeys {
  std::span<const double> queries;      // [n, group, head_dim]
  std::span<const double> keys;         // [n, head_dim]
  std::span<const double> frequencies;  // radians per position; number f and number f + their count are turned together
  LayerConfig layer;
};
QueryCloud query_cloud(const QueriesAndKeys& head, int head_dim);

}  // namespace kvscope
