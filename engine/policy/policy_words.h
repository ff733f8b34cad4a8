// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace kvscope {

class Policy;

/// What it may look at when it chooses, for people: coming tokens, a probe, the end of the prompt, attention, files made for the model, or
/// less.
std::string looks_at(const Policy& policy);

/// What a score is made of, for people: the ranking's equation with its terms, and what the selection makes of it; empty: it is the
/// statistic.
std::string score_equation(const Policy& policy);

}  // namespace kvscope
