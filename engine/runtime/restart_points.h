// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iterator>
#include <map>

namespace kvscope {

/// How many states of a long text are kept to begin again from, spread evenly: what they take grows with the text and not with its square.
/// An edit in the middle has to go back at most 1 / kRestartPoints of what came before it, beside the half of the text that follows it
/// anyway.
inline constexpr int kRestartPoints = 16;

/// Distance between those of a text of n tokens: `least`, doubled until they are few enough.
inline int restart_spacing(int n, int least) {
  int spacing = least;
  while (n / spacing > kRestartPoints) spacing *= 2;
  return spacing;
}

/// Drops what is too many. The newest two stay wherever they are: most edits are made at the end.
template <class State>
void thin_restart_points(std::map<int, State>& points, int least) {
  if (points.size() <= 2) return;
  const int spacing = restart_spacing(points.rbegin()->first, least);
  const auto newest = std::prev(points.end(), 2);
  for (auto it = points.begin(); it != newest;) it = it->first % spacing == 0 ? std::next(it) : points.erase(it);
}

}  // namespace kvscope
