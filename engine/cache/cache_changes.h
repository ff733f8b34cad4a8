// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <span>
#include <vector>

#include "backend/backend.h"
#include "cache/head_cache.h"
#include "policy/plan.h"

namespace kvscope {

/// The backend's side of what policies decided about any number of heads, done together: a device does best with few large calls.
class CacheChanges {
 public:
  /// A compression of one head. `plan` stays where it is until make().
  void add(HeadCache& cache, const Plan& plan);
  /// Merged rows first, in order, then new values, then the removed slots go.
  void make(Backend& backend) {
    CacheChanges* const alone[] = {this};
    make(backend, alone);
  }
  /// Of several, about different heads, together.
  static void make(Backend& backend, std::span<CacheChanges* const> all);

 private:
  void spread(HeadCache& cache, const Removal& removal);

  struct NewValue {
    HeadKv* kv;
    int slot;
    std::span<const double> row;
  };

  std::vector<CombineJob> combines_;
  std::vector<NewValue> values_;
  std::vector<RemovalJob> removals_;
  // what they point to
  std::deque<std::vector<int>> slots_;
  std::deque<std::vector<double>> weights_;
};

}  // namespace kvscope
