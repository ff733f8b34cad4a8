// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "app/cli/sweep/sweep_plan.h"
#include "snapshot/figures.h"

namespace kvscope::cli {

/// CSV, header first. Of one text and seed a row per run: policy, spec, ratio and the figures without the score. Else a row per band: mean,
/// lowest (_min) and highest (_max) of each figure. Numbers in the shortest form that reads back; empty where there is none.
std::string sweep_csv(const SweepPlan& plan, const std::vector<SweepResult>& results);
/// JSON, schema kvscope.sweep/1: every item, and the bands.
std::string sweep_json(const SweepPlan& plan, const std::vector<SweepResult>& results);
/// For people.
std::string sweep_table(const SweepPlan& plan, const std::vector<SweepResult>& results);
/// Of runs that draw nothing several seeds are one item, several times: no evidence. Which runs they are; empty: none, or one seed.
std::string seeds_words(const SweepPlan& plan, const std::vector<SweepResult>& results);

}  // namespace kvscope::cli
