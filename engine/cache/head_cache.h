// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "backend/backend.h"
#include "policy/policy.h"
#include "policy/slot_state.h"

namespace kvscope {

/// The compressed cache of one (lane, layer, KV head): keys and values in backend memory, everything else on the host, slot by slot alike.
struct HeadCache {
  HeadKv kv;
  SlotState slots;
  bool unrotated = false;     // positions=cache after the first removal: keys are stored without rotation
  bool ever_removed = false;  // before the first removal the cache is the full history
};

/// Deep copy (checkpoints, forks).
HeadCache clone(Backend& backend, const HeadCache& cache);

/// Keys of one head for a policy's decision.
class CacheGeometry final : public KeyGeometry {
 public:
  CacheGeometry(Backend& backend, const HeadKv& kv) : backend_(&backend), kv_(&kv) {}
  std::vector<double> cosines(std::span<const int> from, std::span<const int> to) const override;

 private:
  Backend* backend_;
  const HeadKv* kv_;
};

/// Carries out what a policy decided: merged rows first, in order, then the host side (members, votes, bias, statistics), then the removed rows go.
/// Returns the slots that stayed, as indices before the compression, ascending.
std::vector<int> apply(Backend& backend, HeadCache& cache, const StatNeeds& needs, const Plan& plan);

/// positions=cache: from the first removal on keys are kept unrotated, because their index, and so their rotation, changes with every removal.
void unrotate_keys(Backend& backend, HeadCache& cache);

}  // namespace kvscope
