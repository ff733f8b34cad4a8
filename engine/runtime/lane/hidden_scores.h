// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "backend/backend.h"
#include "core/hidden_scorer.h"

namespace kvscope {

/// What the scorer makes of n hidden states [n, dim] in backend memory, [n_kv_heads, n]. Made on the host, whatever the device.
std::vector<double> hidden_scores(Backend& backend, const HiddenScorer& scorer, int layer, const void* hidden, int n);

}  // namespace kvscope
