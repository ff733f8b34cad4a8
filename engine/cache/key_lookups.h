// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "backend/backend.h"
#include "policy/policy.h"

namespace kvscope {

/// What a NearestJob answered, in slots.
std::vector<Nearest> nearest(std::span<const int> to, std::span<const int> places, std::span<const double> cosines);

/// Questions about the keys of several heads, answered together: all that were announced when the first of them is asked. Keys must not
/// change before the last one is.
class KeyLookups {
 public:
  explicit KeyLookups(Backend& backend, int head_dim) : backend_(backend), head_dim_(head_dim) {}

  void expect_nearest(const HeadKv& kv, std::span<const int> from, std::span<const int> to);
  void expect_keys(const HeadKv& kv, std::span<const int> slots);
  std::vector<Nearest> nearest(const HeadKv& kv, std::span<const int> from, std::span<const int> to);
  void keys(const HeadKv& kv, std::span<const int> slots, std::vector<double>& rows);

 private:
  struct NearestOf {
    const HeadKv* kv = nullptr;
    std::vector<int> from, to, places;  // places: empty until there is an answer
    std::vector<double> cosines;
  };
  struct KeysOf {
    const HeadKv* kv = nullptr;
    std::vector<int> slots;
    std::vector<double> rows;  // empty until there is an answer
  };

  Backend& backend_;
  int head_dim_;
  std::vector<NearestOf> nearest_;
  std::vector<KeysOf> keys_;
};

}  // namespace kvscope
