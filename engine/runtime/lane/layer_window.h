// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "cache/head_cache.h"
#include "core/config.h"
#include "policy/policy.h"

namespace kvscope {

// A layer with a window of its own is no policy's: its heads lose what the next token no longer sees, and nothing else. That changes no
// output, so nothing is measured of it, and HeadCache::ever_changed does not count it.

/// Slots that a head may hold; nullopt: no limit.
std::optional<int> room_of(const ModelConfig& model, const Policy& policy, int layer, int kv_head);

/// One plan per head: the slots of tokens before `first_kept` go.
std::vector<Plan> leave_window(std::span<const HeadCache> heads, int first_kept);

/// apply_to_slots() of such a plan, or, without a window, of any.
std::vector<int> apply_in_layer(const LayerConfig& layer, HeadCache& cache, const StatNeeds& needs, const Plan& plan);

/// p [group, n]: attention to n tokens from `first` on. [group, first + n]: as attention to all of them.
std::vector<double> over_all_tokens(std::span<const double> p, int group, int first);

}  // namespace kvscope
