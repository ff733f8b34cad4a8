// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <QString>

#include "policy/catalog.h"
#include "viz/selection.h"

namespace kvscope {

struct Snapshot;

/// Where the effect of a step is seen.
struct StepPlace {
  int lane = 0;
  std::string spec;  // of the run: it is there once its results are
  /// Of an edit by hand: its tokens, the first step that sees it, and its head where it is of one.
  struct Look {
    viz::TokenRange tokens;
    int step = 0;
    std::optional<int> layer, kv_head;
  };
  std::optional<Look> look;
};

/// Of a change of the runs; nullopt: several change, or one goes.
std::optional<StepPlace> runsPlace(const std::vector<LaneSpec>& from, const std::vector<LaneSpec>& to);
/// The edit by hand with which a run came; nullptr: none.
const WhatIf* handEditOf(const LaneSpec& run);
StepPlace::Look look_of(const WhatIf& edit);
/// What kind of step it is, for the menu: "budget of run F", "add run".
QString runsName(const std::vector<LaneSpec>& from, const std::vector<LaneSpec>& to);
/// What changes: "budget of run F, 10 % → 20 %", "policy of run B, H2O → D2O". A run that comes or goes, and what is done by hand, are
/// called by what was done, whether that is done again or taken back: "adding run F, D2O, 10 %".
QString runsWords(const Snapshot& snapshot, const std::vector<LaneSpec>& from, const std::vector<LaneSpec>& to, bool back);
/// Of the text: "edit of the text, “ not” is there again".
QString textWords(std::string_view removed, std::string_view added);

}  // namespace kvscope
