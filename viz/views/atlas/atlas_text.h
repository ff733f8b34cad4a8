// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "viz/views/atlas/atlas_scene.h"

namespace kvscope::viz {

/// One line about the fate of a token: "evicted at step 3", "merged into 58 «·be» at step 101", "heavy, has its own slot".
std::string fate_text(const Snapshot& s, const LaneSnapshot& lane, int step, int head, int token);
/// Tooltip of a token in a head: what, fate, score and rank, votes, context (viz/README.md section 4).
std::vector<std::string> token_tooltip(const Snapshot& s, const LaneSnapshot& lane, int step, int head, int token);
/// Tooltip of tokens that one texel stands for.
std::vector<std::string> bin_tooltip(const AtlasScene& s, const AtlasRow& row, const TokenRange& tokens);
/// Every token of the selected head, or of all heads.
Table atlas_table(const Frame& frame);

}  // namespace kvscope::viz
