// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "policy/decision.h"

namespace kvscope {

/// What an allocator distributes, and over what.
struct BudgetShape {
  int n_layers = 0;
  int n_kv_heads = 0;
  int slots = 0;     // C
  int observed = 0;  // w: part of C that goes to the observation window
  int n_prompt = 0;  // L
};

/// What an allocation that surveys all layers keeps in mind of one head.
struct HeadNotes {
  std::vector<double> numbers;
  std::vector<int> pos;  // of the slots that these are of, where they are of slots
  int n_protected = 0;
};

/// The part that says how many slots every (layer, KV head) gets.
class Allocation {
 public:
  virtual ~Allocation() = default;
  /// [n_layers * n_kv_heads], layer-major; nullopt: unlimited. Not asked when C >= L (nothing to distribute), unless limits() is
  /// false or distributes_always().
  virtual std::vector<std::optional<int>> budgets(const BudgetShape& shape) const = 0;
  /// New budgets of all heads once the prompt was seen (heads: layer-major); empty: they stay. Not asked when C >= L.
  virtual std::vector<std::optional<int>> after_prompt(const BudgetShape&, std::span<const HeadView>) const { return {}; }
  /// True: after the prompt it sees every head, with keys, queries and scores, before the first layer is compressed. Heads of layers with a
  /// window of their own are not among them: their notes stay empty.
  virtual bool surveys() const { return false; }
  virtual HeadNotes note(const HeadDecision&) const { return {}; }
  /// What a head's share is made of, for people; empty: nothing that is measured.
  virtual std::string equation() const { return {}; }
  /// Budgets of all heads (layer-major) from the notes. Not asked when C >= L, unless distributes_always().
  virtual std::vector<std::optional<int>> after_survey(const BudgetShape&, std::span<const HeadNotes>) const { return {}; }
  /// True: works only where the whole prompt is seen at once (prefill).
  virtual bool needs_prompt() const { return false; }
  /// True: asked for budgets also when C >= L.
  virtual bool distributes_always() const { return false; }
  /// True: a share below sinks + recent + 1 is raised to it.
  virtual bool raises_small_shares() const { return true; }
  /// True: a layer is due as a whole, when the mean slot count of its heads exceeds C.
  virtual bool by_layer() const { return false; }
  /// True: what is protected follows C, not the head's own budget.
  virtual bool protects_by_mean() const { return by_layer(); }
  /// Adds the statistics it reads.
  virtual void require(StatNeeds&) const {}
  /// False: nothing is ever compressed.
  virtual bool limits() const { return true; }
  /// Called in every step with the scores of all heads of one layer, before the selection. An allocator that looks at the heads together
  /// sets their budget and due here; what it sets stays the budget of the head.
  virtual void revise(std::span<HeadDecision>) const {}
};

/// C everywhere.
class UniformAllocation final : public Allocation {
 public:
  std::vector<std::optional<int>> budgets(const BudgetShape& shape) const override;
  bool raises_small_shares() const override { return false; }  // C is at its minimum already
};

/// No budget at all.
class UnlimitedAllocation final : public Allocation {
 public:
  std::vector<std::optional<int>> budgets(const BudgetShape& shape) const override;
  bool limits() const override { return false; }
};

}  // namespace kvscope
