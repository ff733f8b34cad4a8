// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "arch/model_files.h"
#include "core/cancel.h"
#include "runtime/session/session.h"

namespace kvscope {

/// A text in which something is said twice: for each pair, the query at the first position predicts the token that stands at the second
/// one.
struct HeadProbe {
  std::vector<int> ids;
  std::vector<std::pair<int, int>> copies;  // (position of the query, earlier position of the token that follows it), ascending
};

/// How much heads look back, measured with the full cache. Means over all probes.
struct HeadScores {
  int n_layers = 0, n_heads = 0, n_kv_heads = 0;
  std::vector<double> retrieval;  // [n_layers, n_heads]: attention of the query on the token to be copied
  std::vector<double> outside;    // [n_layers, n_kv_heads]: attention outside sinks and recent, mean over the group and all queries
};

struct HeadScoreOptions {
  int sinks = 4;    // tokens
  int recent = 64;  // tokens
};

/// progress: fraction in [0, 1]. Throws Error, UsageError (no probe; a probe without copies or with impossible positions), Cancelled.
HeadScores score_heads(ModelFiles model, const SessionOptions& session, std::span<const HeadProbe> probes, const HeadScoreOptions& options,
                       const CancelToken& cancel, const std::function<void(double)>& progress = {});

}  // namespace kvscope
