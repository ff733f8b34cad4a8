// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

namespace kvscope {

/// Next token from logits [vocab_size]. temperature 0: the most likely one, ties to the lowest id. Otherwise drawn from softmax(logits /
/// temperature) with a number that depends on (seed, step) alone, so that a replay is identical.
int pick_token(std::span<const double> logits, double temperature, std::uint64_t seed, int step);

}  // namespace kvscope
