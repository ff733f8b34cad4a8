// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "slots/slot_state.h"
#include "slots/statistics/log_ema.h"

namespace kvscope {

/// How the score of the next query is predicted (POLICIES.md section 5).
enum class Predict : std::uint8_t { ema, current, window };

/// lshat_{g,i}: predicted log-scores, [n, group], entry [i * group + g] (POLICIES.md section 5).
void log_scores(const SlotState& state, Predict predict, int group, const EmaStart& start, std::vector<double>& lshat);
std::vector<double> log_scores(const SlotState& state, Predict predict, int group, double alpha);
/// ln Z_g = ln sum_i p_i exp(lshat_{g,i}), [group].
std::vector<double> log_normalisers(const SlotState& state, std::span<const double> lshat, int group);

}  // namespace kvscope
