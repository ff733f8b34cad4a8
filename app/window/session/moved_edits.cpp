// SPDX-License-Identifier: Apache-2.0
#include "app/window/session/moved_edits.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace kvscope {
namespace {

/// Where a token is now; tokens after the prompt move with its end.
std::optional<int> moved(int position, const TextChange& change) {
  if (position < change.front) return position;
  if (position >= change.n_before - change.back) return position + change.n_after - change.n_before;
  return std::nullopt;
}

}  // namespace

TextChange change_between(const std::vector<int>& before, const std::vector<int>& after) {
  const auto [end, unused] = std::ranges::mismatch(before, after);
  TextChange out{static_cast<int>(end - before.begin()), 0, static_cast<int>(before.size()), static_cast<int>(after.size())};
  const int most = std::min(out.n_before, out.n_after) - out.front;  // no token is in both
  while (out.back < most &&
         before[before.size() - 1 - static_cast<std::size_t>(out.back)] == after[after.size() - 1 - static_cast<std::size_t>(out.back)])
    ++out.back;
  return out;
}

MovedEdits moved_edits(const LaneEdits& edits, const TextChange& change, bool stream) {
  MovedEdits out{{{}, edits.budgets}, 0};
  for (WhatIf w : edits.what_ifs) {
    const std::vector<int> positions = std::exchange(w.positions, {});
    for (const int position : positions) {
      if (const auto now = moved(position, change))
        w.positions.push_back(*now);
      else
        ++out.n_lost;
    }
    const std::optional<int> into = w.into < 0 ? std::optional(w.into) : moved(w.into, change);
    if (!into) ++out.n_lost;
    if (w.positions.empty() || !into) continue;
    w.into = *into;
    if (stream && w.step >= 0) w.step = moved(w.step, change).value_or(change.front);
    out.edits.what_ifs.push_back(std::move(w));
  }
  return out;
}

}  // namespace kvscope
