// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "policy/catalog/custom.h"

namespace kvscope {

/// Rankings by what keys, values and the prompt's queries are like, without a look at attention: choices of the key `stat`.
std::vector<PartChoice> geometry_rankings();
/// Selections of neighbouring tokens: choices of the key `select`.
std::vector<PartChoice> chunk_selections();

/// Choices of `stat` that look at the whole prompt at once, those that rank once after it unless told otherwise, and those that rank
/// whenever so many tokens have come; separated by spaces.
inline constexpr std::string_view kOfWholePrompt = "noncausal compactor expected probe reference";
inline constexpr std::string_view kRankedNowAndThen = "rkv tri";
/// Choices of `stat` whose scores are made only when something is removed: the last queries' tokens have none.
inline constexpr std::string_view kOfWindow = "pooled question rkv dropkv";
inline constexpr std::string_view kRankedOnce =
    "pooled question dropkv qfilter kvzap fastkvzip lagkv leverage cur noncausal compactor expected probe reference";

}  // namespace kvscope
