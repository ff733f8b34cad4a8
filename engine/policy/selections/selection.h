// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "policy/decision.h"

namespace kvscope {

/// Slots that are never selected: those with pos < sinks, and the `recent` slots of highest pos.
struct Protection {
  int sinks = 0;
  int recent = 0;
};
std::vector<char> protected_mask(const SlotState& slots, const Protection& protection);
/// Into `mask`, whose memory is used again.
void protected_mask(const SlotState& slots, const Protection& protection, std::vector<char>& mask);
/// Slots that may be selected, ascending.
std::vector<int> unprotected(const HeadDecision& head);
/// keep = all slots that are not in gone.
void keep_the_rest(HeadDecision& head);

/// The part that decides which slots of a head stay, from their scores: fills keep and gone of a decision that is due.
class Selection {
 public:
  virtual ~Selection() = default;
  virtual void select(HeadDecision& head, int step) const = 0;
  /// Adds what it reads besides the scores.
  virtual void require(StatNeeds&) const {}
  /// What becomes of the score before it decides, for people; empty: nothing.
  virtual std::string equation() const { return {}; }
  /// How many of n slots go where the order of the scores decides alone, which of them; 0: something else counts, too.
  virtual int n_lowest(int /*n*/, int /*budget*/) const { return 0; }
  /// True: is asked in every step, also where nothing is due (slots change their area before the budget is full).
  virtual bool works_below_budget() const { return false; }
  /// True: says how many stay, so that it is asked whenever the policy compresses, with or without a budget.
  virtual bool sets_size() const { return false; }
};

/// In which order the removals of one compression are told and done.
enum class RemovalOrder : std::uint8_t { by_pos, lowest_first };

/// Protected slots first, then by (score descending, tie_break descending, pos ascending) until the budget is full. NaN ranks as -inf.
class TopSelection final : public Selection {
 public:
  /// at_least: so many go whenever the head is over its budget.
  explicit TopSelection(RemovalOrder order, int at_least = 0) : order_(order), at_least_(at_least) {}
  void select(HeadDecision& head, int step) const override;
  int n_lowest(int n, int budget) const override { return n <= budget ? 0 : std::max(n - budget, at_least_); }

 private:
  RemovalOrder order_;
  int at_least_;
};

/// Removes slots drawn one after the other from the unprotected ones that are left, in order of the draws: removal e takes the one at
/// floor(u_e m) of m.
class RandomSelection final : public Selection {
 public:
  explicit RandomSelection(std::uint64_t seed) : seed_(seed) {}
  void select(HeadDecision& head, int step) const override;

 private:
  std::uint64_t seed_;
};

/// Of the b unprotected slots that stay, floor(alpha b) are the best by their score A, the others the best of the rest by (A + eps) nu, nu
/// the slot's value norm. Shown as score: (A + eps) nu. CriticalKV, Algorithm 1.
class TwoStageSelection final : public Selection {
 public:
  /// of_all: alpha is a share of the budget, which the protected slots are the first to take; else of what is left beside them.
  TwoStageSelection(double alpha, double eps, bool of_all = false) : alpha_(alpha), eps_(eps), of_all_(of_all) {}
  void select(HeadDecision& head, int step) const override;
  std::string equation() const override;

 private:
  double alpha_, eps_;
  bool of_all_;
};

}  // namespace kvscope
