// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "backend/backend.h"
#include "cache/pooled_tokens.h"
#include "policy/head_view.h"
#include "policy/reading/page_reading.h"
#include "slots/slot_state.h"

namespace kvscope {

class KeyLookups;

/// The compressed cache of one (lane, layer, KV head): keys and values in backend memory, everything else on the host, slot by slot alike.
struct HeadCache {
  HeadKv kv;
  SlotState slots;
  bool unrotated = false;               // positions=cache after the first removal: keys are stored without rotation
  bool ever_changed = false;            // before the first removal, and before a row is stored, the cache is the full history
  std::vector<double> value_norm = {};  // of the first slots, as far as somebody has asked for it (value_norms.h)
  PageBounds pages = {};                // of the first pages, as far as somebody has asked for it (page_bounds.h)
  std::vector<double> learned = {};     // by position, where StatNeeds::learned: what comes back needs it
  PooledTokens pooled = {};             // what has gone, where the policy keeps sums of it
  int rope = 0;                         // table by which its keys are rotated; -1: they are not
};

/// Deep copy (checkpoints, forks).
HeadCache clone(Backend& backend, const HeadCache& cache);
/// The same without keys and values.
HeadCache clone_without_rows(const HeadCache& cache);

/// Keys and values of one head for a policy's decision.
class CacheGeometry final : public KeyGeometry {
 public:
  /// heads: all KV heads of the layer, whose value norms are computed together; wo [dim, n_heads * head_dim]. lookups: for the questions
  /// about all of them; nullptr: each is answered by itself, while its keys are near.
  CacheGeometry(Backend& backend, std::span<HeadCache> heads, int head, const Weight& wo, int head_dim, KeyLookups* lookups = nullptr)
      : backend_(&backend),
        heads_(heads),
        head_(head),
        wo_(&wo),
        head_dim_(head_dim),
        kv_(&heads[static_cast<std::size_t>(head)].kv),
        lookups_(lookups) {}
  std::vector<double> cosines(std::span<const int> from, std::span<const int> to) const override;
  std::vector<Nearest> nearest_kept(std::span<const int> gone) const override;
  bool answers_together() const override { return lookups_ != nullptr; }
  void expect_nearest_kept(std::span<const int> gone) const override;
  Nearest largest_product(int from, std::span<const int> to) const override;
  void expect_largest_product(int from, std::span<const int> to) const override;
  void expect_keys(std::span<const int> slots) const override;
  void keys(std::span<const int> slots, std::vector<double>& rows) const override;
  std::vector<double> values() const override;
  std::vector<double> unrotated_keys() const override;
  std::vector<double> value_l2() const override;
  std::vector<double> value_norms() const override;

 private:
  const HeadCache& cache() const { return heads_[static_cast<std::size_t>(head_)]; }

  Backend* backend_;
  std::span<HeadCache> heads_;
  int head_;
  const Weight* wo_;
  int head_dim_;
  const HeadKv* kv_;
  KeyLookups* lookups_;
};

/// The host's side of what a policy decided: members, votes, bias, statistics. The backend's (cache_changes.h) comes before it.
/// Returns the slots that went, as indices before the compression, ascending.
std::vector<int> apply_to_slots(HeadCache& cache, const StatNeeds& needs, const Plan& plan);
/// Both sides, for one head. maps: where there are some, what is evicted is pooled.
std::vector<int> apply(Backend& backend, HeadCache& cache, const StatNeeds& needs, const Plan& plan, const HeadMaps& maps = {});

/// The token at `pos` comes back as a slot of its own, with its key (rotated) and value [head_dim] in backend memory. It must not have one.
/// Returns its place among the slots. maps: as of apply().
int restore(Backend& backend, HeadCache& cache, const StatNeeds& needs, int group, int head_dim, int pos, const void* k, const void* v,
            const HeadMaps& maps = {});

/// positions=cache: from the first removal on keys are kept unrotated, because their index, and so their rotation, changes with every
/// removal. Does nothing where keys are never rotated.
void unrotate_keys(Backend& backend, HeadCache& cache);

}  // namespace kvscope
