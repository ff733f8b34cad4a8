// SPDX-License-Identifier: Apache-2.0
#pragma once

// Made-up snapshots of any size: they show and measure what draws, no model has run. The same arguments give the same snapshot everywhere.

#include <cstdint>
#include <vector>

#include "snapshot/snapshot.h"

namespace kvscope::synthetic {

/// In [0, 1), the same for the same arguments.
double uniform(std::uint64_t seed, int a, int b = 0, int c = 0);

/// n tokens of several scripts, the first n_prompt of them from the prompt.
std::vector<TokenInfo> tokens(int n, int n_prompt);

/// Lane 0 keeps everything, the others keep slots for a few tokens of a hundred and let others live on merged. Steps: one prefill of
/// n_prompt tokens, then n_generated of one token. Nothing is captured (no attention). Device and runs say that they are synthetic.
/// 16 bytes a head and token of a lane that removes something: 32 x 32 heads x 32 768 tokens take 0.5 GB and about a second per lane.
Snapshot make_huge_snapshot(int n_layers, int n_kv_heads, int n_prompt, int n_generated = 0, int n_lanes = 2);

/// Run `index` of such a snapshot, on as many threads as the machine has.
LaneSnapshot make_huge_lane(int index, int n_layers, int n_kv_heads, int n_prompt, int n_generated);

}  // namespace kvscope::synthetic
