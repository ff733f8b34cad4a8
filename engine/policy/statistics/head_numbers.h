// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "core/number_rules.h"
#include "policy/policy.h"
#include "policy/statistics/slot_state.h"

namespace kvscope {

class EmaStart;  // statistics.h

/// Statistics of one head that the backend keeps, as numbers of its slots; SlotState has none of them then. Implemented by the runtime.
class HeadNumbers {
 public:
  struct Lowest {
    int slot = -1;       // -1: nothing was asked, or nothing may go
    double score = kNone;
    std::span<const double> log_Z;  // ln Z_g [group], where the numbers have an EMA
  };
  virtual ~HeadNumbers() = default;
  virtual const NumberRules& rules() const = 0;
  /// What Policy::foresee() asked for, this step's rows included.
  virtual Lowest lowest() const = 0;
  /// Numbers of a slot, [width]. At hand for the lowest one, the one after it, and what the keys called nearest; the backend is asked for others.
  virtual std::span<const double> row(int slot) const = 0;
};

/// What the numbers of a slot have to be for these statistics; nullopt: they cannot be kept so.
std::optional<NumberRules> number_rules(const StatNeeds& needs, int group, Bias bias);

/// The statistics of all slots as their numbers, [n, width], after `steps` rows; they leave `state`.
std::vector<double> take_numbers(SlotState& state, const StatNeeds& needs, const NumberRules& rules, int group, Bias bias, int steps);
/// The other way round: `state` gets the statistics that `rows` hold.
void give_numbers(SlotState& state, const StatNeeds& needs, const NumberRules& rules, int group, std::span<const double> rows, int steps);
/// What is left for SlotState to keep.
StatNeeds without_numbers(const StatNeeds& needs);
/// What `merge`, a part of `plan` that `state` has not seen yet, makes of the numbers of its target.
void update_numbers(std::span<double> row, const SlotState& state, const NumberRules& rules, Bias bias, const Plan& plan, const Merge& merge);

/// W_i: accumulated abar over times scored; the decayed sum; lshat_g [group] of the EMA. Of what SlotState has, or the backend.
double mean_attention(const HeadView& head, int slot);
double decayed_attention(const HeadView& head, int slot);
void append_log_scores(const HeadNumbers& numbers, int slot, int group, const EmaStart& start, std::vector<double>& lshat);

}  // namespace kvscope
