// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/lane/lane.h"
#include "snapshot/snapshot.h"
#include "tokenizer/tokenizer.h"

namespace kvscope {

/// Text of every id of a vocabulary, made once per model.
std::shared_ptr<const std::vector<TokenInfo>> make_vocabulary(const Tokenizer& tokenizer);

/// Tokens of a run as text. The first ones are those of the prompt, whose byte ranges they get.
std::vector<TokenInfo> describe_tokens(std::span<const int> ids, std::span<const TextToken> prompt,
                                       const std::vector<TokenInfo>& vocabulary);

/// One lane as the window sees it, with its first n_steps steps. ended: the token fed after them is the last of the text.
LaneSnapshot describe_lane(Lane& lane, const ModelConfig& model, int n_steps, bool ended);

/// Sets fork_of of every lane, from their specifications.
void find_forks(std::vector<LaneSnapshot>& lanes);
/// The same, and marks the titles of those that were changed by hand.
void name_forks(std::vector<LaneSnapshot>& lanes);

}  // namespace kvscope
