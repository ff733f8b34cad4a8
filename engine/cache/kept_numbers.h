// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <span>
#include <vector>

#include "cache/cache_changes.h"
#include "cache/head_cache.h"
#include "cache/key_lookups.h"
#include "policy/statistics/head_numbers.h"

namespace kvscope {

/// How the statistics of the heads of a layer are kept by the backend, for one policy.
struct NumberPlan {
  NumberRules rules;
  SlotScore score = SlotScore::sum;
  Bias bias;
};

/// The statistics of a head move to the backend (after `steps` rows), and back to the host.
void move_to_backend(Backend& backend, HeadCache& cache, const StatNeeds& needs, const NumberPlan& plan, int group, int steps);
void move_to_host(Backend& backend, HeadCache& cache, const StatNeeds& needs, const NumberRules& rules, int group, int steps);

/// What a policy's merges change in the numbers of slots that stay, to be asked before the slots change.
void change_numbers(HeadCache& cache, const NumberPlan& numbers, const Plan& plan, const HeadNumbers& known, CacheChanges& changes);

/// Numbers of one head for a policy's decision.
class KeptNumbers final : public HeadNumbers {
 public:
  /// lowest: where the backend puts its answer; nullptr: nothing was asked. of_layer: it is one for all heads. lookups: that have found what
  /// is nearest, or nullptr.
  KeptNumbers(Backend& backend, const HeadCache& cache, const NumberRules& rules, int group, const void* lowest, bool of_layer,
              const KeyLookups* lookups)
      : backend_(&backend), cache_(&cache), rules_(&rules), group_(group), lowest_(lowest), of_layer_(of_layer), lookups_(lookups) {}
  const NumberRules& rules() const override { return *rules_; }
  Lowest lowest() const override;
  std::span<const double> row(int slot) const override;

 private:
  Backend* backend_;
  const HeadCache* cache_;
  const NumberRules* rules_;
  int group_;
  const void* lowest_;
  bool of_layer_;  // the numbers in the answer are those of the first head
  const KeyLookups* lookups_;
  mutable std::vector<double> answer_;                // what lowest_ holds; empty: not asked yet
  mutable std::map<int, std::vector<double>> asked_;  // rows that nobody had at hand
};

}  // namespace kvscope
