// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "app/cli/sweep/sweep_plan.h"
#include "snapshot/figures.h"

namespace kvscope::cli {

/// What a run of a sweep comes to over texts and seeds.
struct SweepBand {
  std::array<Statistics, kSweepFigures.size()> figures;  // of the items that have the figure
  std::size_t n = 0;                                     // items
  // Item by item beside the first policy at the same ratio: by score, where both have one, else by KL. An item in which they are alike is
  // in neither; compared 0: nothing to compare with.
  std::size_t better = 0, worse = 0, compared = 0;
};

/// One band per run of the plan, in its order.
std::vector<SweepBand> sweep_bands(const SweepPlan& plan, const std::vector<SweepResult>& results);

/// CSV, header first. Of one text and seed a row per run: policy, spec, ratio and the figures without the score. Else a row per band: mean,
/// lowest (_min) and highest (_max) of each figure. Numbers in the shortest form that reads back; empty where there is none.
std::string sweep_csv(const SweepPlan& plan, const std::vector<SweepResult>& results);
/// JSON, schema kvscope.sweep/1: every item, and the bands.
std::string sweep_json(const SweepPlan& plan, const std::vector<SweepResult>& results);
/// For people.
std::string sweep_table(const SweepPlan& plan, const std::vector<SweepResult>& results);

}  // namespace kvscope::cli
