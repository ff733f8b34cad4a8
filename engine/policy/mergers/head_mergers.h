// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/config.h"
#include "policy/mergers/merger.h"
#include "policy/policy_row.h"

namespace kvscope {

/// The merger of a lane, and those of single heads in which keys have other
/// values (HeadKey). Copies clone all of them.
class HeadMergers {
 public:
  using Make = std::function<std::unique_ptr<Merger>(const Params&)>;
  /// Throws UsageError: a layer or head that the model does not have. where: "lane 'keepkv:slots=4'".
  HeadMergers(const ResolvedLane& lane, const ModelConfig& model, const Make& make, const std::string& where);
  HeadMergers(const HeadMergers& other);
  HeadMergers& operator=(const HeadMergers&) = delete;

  /// Of the run: what its statistics are.
  Merger& run() { return *run_; }
  const Merger& run() const { return *run_; }
  Merger& of(int layer, int kv_head) const {
    const int own = of_head_.empty() ? -1 : of_head_[static_cast<std::size_t>(layer * n_kv_heads_ + kv_head)];
    return own < 0 ? *run_ : *own_[static_cast<std::size_t>(own)];
  }
  /// Tells the keys of all heads of a layer what merge_layer() is going to ask them.
  void expect(std::span<HeadDecision> heads) const;
  /// All heads of a layer.
  void merge_layer(std::span<HeadDecision> heads, int step);
  /// The same values in the same heads.
  bool alike(const HeadMergers& other) const;

 private:
  int n_kv_heads_;
  std::unique_ptr<Merger> run_;
  std::vector<Params> params_;                // each set of values that differs from the run's
  std::vector<std::unique_ptr<Merger>> own_;  // of each
  std::vector<int> of_head_;                  // [n_layers * n_kv_heads] index of it, -1: as the
                                              // run; empty: so everywhere
};

}  // namespace kvscope
