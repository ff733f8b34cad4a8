// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "policy/mergers/merger.h"

namespace kvscope {

/// Weights of a target (first) and of the slots that merge into it, for their cosines u to the target.
/// paper: e / (e + sum exp(u)) and exp(u_e) / (e + sum exp(u)), the target counts as similarity 1; code: 1 / (1 + m) and u_e / (1 + m),
/// which is no average.
std::vector<double> similarity_weights(std::span<const double> u, MergeForm form);

/// D2O: every removed slot e goes to the kept slot of most similar key if that cosine u_e reaches the layer's threshold tau, else it is
/// evicted. tau is the mean of u over all heads of the layer the first time, then (1 - beta) tau + beta mean(u), before it gates the step's
/// own u. All slots of one target merge at once; it keeps its statistics.
class GatedMerger final : public Merger {
 public:
  GatedMerger(double beta, MergeForm form) : beta_(beta), form_(form) {}

  std::unique_ptr<Merger> clone() const override { return std::make_unique<GatedMerger>(*this); }
  void expect(HeadDecision& head) const override;
  void merge(HeadDecision& head) override { merge_layer({&head, 1}, 0); }
  void merge_layer(std::span<HeadDecision> heads, int step) override;
  /// nullopt: nothing was removed in this layer yet.
  std::optional<double> tau(int layer) const;

 private:
  double beta_;
  MergeForm form_;
  std::vector<std::optional<double>> tau_;  // by layer
};

}  // namespace kvscope
