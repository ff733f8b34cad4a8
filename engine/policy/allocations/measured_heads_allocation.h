// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "policy/allocations/allocation.h"

namespace kvscope {

/// Streaming heads as StreamingHeadsAllocation, by scores that are measured on the model itself and its prompt: how far back a head's mean
/// query looks among copies of its mean key (kvpress 0.5.5, DuoAttention on the fly; POLICIES.md section 4.1).
class MeasuredHeadsAllocation final : public Allocation {
 public:
  MeasuredHeadsAllocation(double sparsity, int sinks, int recent) : sparsity_(sparsity), kept_(sinks + recent) {}
  std::vector<std::optional<int>> budgets(const BudgetShape& shape) const override { return UniformAllocation().budgets(shape); }
  void require(StatNeeds& needs) const override { needs.prompt_queries = true; }
  bool needs_prompt() const override { return true; }
  bool distributes_always() const override { return true; }
  bool raises_small_shares() const override { return false; }
  bool surveys() const override { return true; }
  HeadNotes note(const HeadDecision& head) const override;
  std::string equation() const override;
  std::vector<std::optional<int>> after_survey(const BudgetShape& shape, std::span<const HeadNotes> heads) const override;

 private:
  double sparsity_;
  int kept_;
};

/// A query at the last of n positions over the same key at each of them: the mean over positions t of the attention up to t, in (0, 1); the
/// higher, the farther back. query, key [width] as they are before rotation; rotations [n, rotated dimensions] as of PromptQueries.
double cumulated_attention(std::span<const double> query, std::span<const double> key, std::span<const double> rotations, int n);

}  // namespace kvscope
