// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "backend/backend.h"
#include "backend/cuda/columns.h"
#include "backend/cuda/device.h"
#include "backend/cuda/rotations.h"

namespace kvscope::cuda {

// Attention on a device, as backend.h says.

/// group: query heads that share a KV head. rotations: for keys that are rotated by their index.
void attend(Device& device, int group, Rotations& rotations, std::span<const AttentionJob> jobs);
void attend_prompt(Device& device, const ModelConfig& config, SumsUnderWay& sums, const PromptAttentionJob& job);

}  // namespace kvscope::cuda
