// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "policy/decision.h"

namespace kvscope {

/// Slots that are never selected: those with pos < sinks, and the `recent` slots of highest pos.
struct Protection {
  int sinks = 0;
  int recent = 0;
};
std::vector<char> protected_mask(const SlotState& slots, const Protection& protection);

/// The part that decides which slots of a head stay, from their scores: fills keep and gone of a decision that is due.
class Selection {
 public:
  virtual ~Selection() = default;
  virtual void select(HeadDecision& head, int step) const = 0;
};

/// In which order the removals of one compression are told and done.
enum class RemovalOrder : std::uint8_t { by_pos, lowest_first };

/// Protected slots first, then by (score descending, tie_break descending, pos ascending) until the budget is full. NaN ranks as -inf.
class TopSelection final : public Selection {
 public:
  explicit TopSelection(RemovalOrder order) : order_(order) {}
  void select(HeadDecision& head, int step) const override;

 private:
  RemovalOrder order_;
};

}  // namespace kvscope
