// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "policy/policy.h"
#include "runtime/prompt/prompt_run.h"

namespace kvscope {

/// The queries that a prompt has kept of the query heads of one (layer, KV head).
class GroupQueries final : public PromptQueries {
 public:
  /// prompt: lives longer; its needs().queries cover all tokens.
  GroupQueries(Backend& backend, const ModelConfig& config, const PromptRun& prompt, int layer, int kv_head)
      : backend_(backend), config_(config), prompt_(prompt), layer_(layer), kv_head_(kv_head) {}

  std::vector<double> rows(bool rotated) const override;
  std::vector<double> rotations(int first, int n) const override;

 private:
  Backend& backend_;
  const ModelConfig& config_;
  const PromptRun& prompt_;
  int layer_, kv_head_;
};

/// One for every KV head of a layer; null pointers where there is no prompt to ask, or nobody asks.
std::vector<std::unique_ptr<PromptQueries>> group_queries(Backend& backend, const ModelConfig& config, const PromptRun* prompt,
                                                          const StatNeeds& needs, int layer);

}  // namespace kvscope
