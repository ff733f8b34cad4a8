// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "backend/backend.h"
#include "backend/cuda/device.h"
#include "backend/cuda/rotations.h"

namespace kvscope::cuda {

// Attention on a device, as backend.h says.

/// group: query heads that share a KV head. rotations: for keys that are rotated by their index.
void attend(Device& device, int group, Rotations& rotations, std::span<const AttentionJob> jobs);
void attend_prompt(Device& device, const ModelConfig& config, const PromptAttentionJob& job);
/// Arrays that ColumnSums ask for, and decays among them.
struct SumCount {
  int sums = 0, lambdas = 0;
};
SumCount count_of_sums(std::span<const ColumnSums> columns);
/// The part of it that sums over rows, or gives rows out. args: of the attention, which has been started.
void sum_columns(Device& device, const ModelConfig& config, const PromptAttentionJob& job, const PromptArgs& args);

}  // namespace kvscope::cuda
