// SPDX-License-Identifier: Apache-2.0
#include "app/window/panels/effect/generated_cells.h"

#include "app/window/shell/panel_paint.h"
#include "viz/reduce/generated.h"

namespace kvscope {

std::vector<GeneratedCell> generatedCells(const Snapshot& snapshot, const LaneSnapshot& lane) {
  std::vector<GeneratedCell> cells;
  for (const viz::GeneratedToken& token : viz::generated_tokens(snapshot, lane))
    cells.push_back({token.step, qs(token.reference), qs(token.says), qs(token.choice), token.same, token.p});
  return cells;
}

}  // namespace kvscope
