// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "viz/views/compare/compare_runs.h"
#include "viz/views/compare/compare_scene.h"

namespace kvscope::viz {

/// "token 7 «·was»: kept in 20 of 24 heads, merged in 3, evicted step 4 in 1 of 24 heads"
std::string count_text(const Snapshot& snapshot, int lane, int step, int token, RunTokens& tokens);

/// "reads «7»": what a run has read in the place of a token of run `of`; empty: that token.
std::string other_token_text(const Snapshot& snapshot, int of, int lane, int token);

/// "reads «7»", or that runs have read different tokens there.
std::string read_text(const Snapshot& snapshot, int position);

/// Tooltip of a run's row. token: -1: on none; head (layer-major, of a layer its first one): -1: on none.
std::vector<std::string> run_tooltip(const Frame& frame, const CompareScene& s, int lane, int token, int head, RunTokens& tokens);

/// Tooltip of the difference of two runs. head: as above, -1: no cell of it stands there.
std::vector<std::string> difference_tooltip(const Snapshot& snapshot, const CompareScene& s, const DifferenceScene& difference, int token,
                                            int head, RunTokens& tokens);

}  // namespace kvscope::viz
