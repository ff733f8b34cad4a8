// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "policy/allocations/allocation.h"
#include "policy/text/named_files.h"

namespace kvscope {

/// How many of the `best` candidates of all heads together lie in each. Equal scores: lower pos, then the head that comes first; what is
/// not a number ranks last. scores, pos: per head.
std::vector<int> best_of_heads(std::span<const std::vector<double>> scores, std::span<const std::vector<int>> pos, std::size_t best);

/// Head budgets of one layer from the joint ranking: n_h = how many of the H * b best candidates of the layer lie in head h, share
/// alpha * b + (1 - alpha) * n_h, sum H * b. Equal scores: lower pos, then lower head. scores, pos: per head; caps: most of each head.
/// (Ada-KV, with the safeguard alpha.)
struct JointBudgets {
  std::vector<int> caps, counts;
};
JointBudgets joint_budgets(std::span<const std::vector<double>> scores, std::span<const std::vector<int>> pos, int b, double alpha,
                           std::span<const int> caps);

/// The same with a floor in place of the blend (kvpress's AdaKVPress): the best safe[h] candidates of every head stay, and of all others
/// the best of the layer, `total` in all.
std::vector<int> counts_above_floor(std::span<const std::vector<double>> scores, std::span<const std::vector<int>> pos, int total,
                                    std::span<const int> safe);

/// Budgets of a layer follow the joint ranking of all its heads, anew in every compression.
class AdaptiveAllocation final : public Allocation {
 public:
  /// What alpha saves: a share of every head's budget that is blended with its part of the joint ranking, or a floor, the protected slots
  /// among it, below which no head falls.
  enum class Safeguard : std::uint8_t { blend, floor };
  AdaptiveAllocation(double alpha, int slots, Safeguard safeguard = Safeguard::blend)
      : alpha_(alpha), slots_(slots), safeguard_(safeguard) {}
  std::vector<std::optional<int>> budgets(const BudgetShape& shape) const override { return UniformAllocation().budgets(shape); }
  bool by_layer() const override { return true; }
  void revise(std::span<HeadDecision> heads) const override;

 private:
  double alpha_;
  int slots_;
  Safeguard safeguard_;
};

/// Slots beside the observation window by the importance of a head's query heads (HeadKV): a share B - B/beta for all, the rest by
/// importance.
class ImportanceAllocation final : public Allocation {
 public:
  /// scores: of every query head; group: query heads per KV head; observes: as PyramidAllocation.
  ImportanceAllocation(std::shared_ptr<const HeadTable> scores, double beta, int group, bool observes = true)
      : scores_(std::move(scores)), beta_(beta), group_(group), observes_(observes) {}
  std::vector<std::optional<int>> budgets(const BudgetShape& shape) const override;
  bool raises_small_shares() const override { return !observes_; }

 private:
  std::shared_ptr<const HeadTable> scores_;
  double beta_;
  int group_;
  bool observes_;
};

/// The `sparsity` share of heads with the lowest scores gets `kept` slots, of equal ones the first; the others get all they want.
std::vector<std::optional<int>> streaming_budgets(std::span<const double> scores, double sparsity, int kept);

/// The `sparsity` share of heads with the lowest scores keeps only sinks and recent, the others keep everything (DuoAttention). Scores from
/// a file, or (null) the prompt's attention outside sinks and recent.
class StreamingHeadsAllocation final : public Allocation {
 public:
  StreamingHeadsAllocation(std::shared_ptr<const HeadTable> scores, double sparsity, int sinks, int recent)
      : scores_(std::move(scores)), sparsity_(sparsity), sinks_(sinks), recent_(recent) {}
  std::vector<std::optional<int>> budgets(const BudgetShape& shape) const override;
  std::vector<std::optional<int>> after_prompt(const BudgetShape& shape, std::span<const HeadView> heads) const override;
  void require(StatNeeds& needs) const override;
  bool needs_prompt() const override { return !scores_; }
  bool distributes_always() const override { return true; }
  bool raises_small_shares() const override { return false; }

 private:
  std::shared_ptr<const HeadTable> scores_;
  double sparsity_;
  int sinks_, recent_;
};

}  // namespace kvscope
