// SPDX-License-Identifier: Apache-2.0
#include "app/window/panels/effect/generated_cells.h"

#include <cmath>

#include "app/window/shell/panel_paint.h"
#include "viz/draw/format.h"
#include "viz/reduce/compare.h"

namespace kvscope {

namespace {

/// Probability of the token that the reference goes on with, in the lane.
double probability(const StepRecord& step, int token) {
  if (token == step.next_token && !std::isnan(step.nll)) return std::exp(-step.nll);
  for (const TopToken& top : step.top_tokens) {
    if (top.id == token) return top.p;
  }
  return kNotAvailable;
}

}  // namespace

std::vector<GeneratedCell> generatedCells(const Snapshot& snapshot, const LaneSnapshot& lane) {
  std::vector<GeneratedCell> cells;
  for (std::size_t s = 0; s < lane.steps.size(); ++s) {
    const StepRecord& step = *lane.steps[s];
    if (step.position < snapshot.n_prompt - 1) continue;
    const int next = step.position + 1;  // the token that this step predicts
    const bool known = next < static_cast<int>(snapshot.tokens.size());
    const int reference = known ? snapshot.tokens[static_cast<std::size_t>(next)].id : step.top1_reference;
    GeneratedCell cell{static_cast<int>(s), {}, qs(viz::text_of_id(snapshot, step.top1)), step.top1_same, probability(step, reference)};
    cell.reference = known ? qs(viz::token_text(snapshot, next)) : qs(viz::text_of_id(snapshot, reference));
    cells.push_back(cell);
  }
  return cells;
}

}  // namespace kvscope
