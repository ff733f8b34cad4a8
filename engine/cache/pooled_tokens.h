// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "backend/backend.h"
#include "core/feature_maps.h"
#include "policy/plan.h"

namespace kvscope {

/// Sums over tokens that have gone from a head: of the features of their keys, and of each feature times their values. As much as a few
/// slots, however many they were.
struct PooledTokens {
  int n = 0;                   // tokens; 0: the sums are empty
  std::vector<double> weight;  // [features]
  std::vector<double> value;   // [features, head_dim]
};

/// Which maps hold for a head.
struct HeadMaps {
  const FeatureMaps* maps = nullptr;
  int layer = 0, kv_head = 0;
};

/// All that a plan evicts comes to the sums, before it goes from `kv`.
void pool_evicted(Backend& backend, const HeadKv& kv, const Plan& plan, const HeadMaps& head, PooledTokens& pooled);
/// A token whose key and value they hold leaves them.
void take_out(Backend& backend, const KvSegment& token, const HeadMaps& head, PooledTokens& pooled);

/// The slot that the sums are to the queries of a head's group, [group, head_dim] in backend memory; none: they are empty.
std::optional<FurtherSlot> slot_of(Backend& backend, const PooledTokens& pooled, const HeadMaps& head, int group, const void* queries);

}  // namespace kvscope
