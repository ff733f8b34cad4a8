// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "app/share/columns.h"
#include "app/share/number_table.h"
#include "app/share/reasons.h"
#include "snapshot/snapshot.h"

namespace kvscope::share {

/// What one run of a page needs of its heads, taken from the same reductions as the window's views.
struct RunColumns {
  RunColumns(int n_heads, int n_steps, int n_tokens);

  Column fate;                 // places in the FateTable
  Column attention;            // twice the place in the NumberTable, plus 1 where the reference pays it and this cache has lost the token
  Column score;                // places; of a token that has gone the one at its removal
  Column votes;                // of the token's own slot, 0: it has none
  Column slot;                 // that stands for the token, 0: none, 1: its own, 2 + pos: another
  std::vector<Missed> missed;  // by head
  bool has_attention = false, has_scores = false;

  // By (step, head), heads fastest: places in the NumberTable.
  std::vector<std::uint32_t> loss, local, error, compression, budget, slots;

  /// The new places after NumberTable::sort().
  void move(const std::vector<std::uint32_t>& places);
};

/// coarse: attention as whole tenths of a percent, "<0.1 %": a page of many tokens would be too large with more.
RunColumns run_columns(const Snapshot& snapshot, int lane, bool coarse, NumberTable& numbers, FateTable& fates);

/// Steps of a run in words and numbers, as the timeline and the panel of next tokens have them: a list of objects.
void write_steps(JsonText& json, const Snapshot& snapshot, int lane);

}  // namespace kvscope::share
