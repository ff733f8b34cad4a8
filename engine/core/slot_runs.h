// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <span>
#include <vector>

namespace kvscope {

/// A run of slots that stay neighbours when others go: [from, from + n) moves down to [to, to + n).
struct SlotRun {
  int from = 0, to = 0, n = 0;
};

/// The runs that move when the slots `gone` (ascending) of n leave.
inline std::vector<SlotRun> runs_without(std::span<const int> gone, int n) {
  std::vector<SlotRun> runs;
  runs.reserve(gone.size());
  for (std::size_t i = 0; i < gone.size(); ++i) {
    const int from = gone[i] + 1, end = i + 1 < gone.size() ? gone[i + 1] : n;
    if (from < end) runs.push_back({from, gone[i] - static_cast<int>(i), end - from});
  }
  return runs;
}

/// The slots of n, ascending, that are not in `gone`, which may be in any order.
inline void slots_without(std::span<const int> gone, int n, std::vector<int>& rest) {
  rest.resize(static_cast<std::size_t>(n) - gone.size());
  if (gone.size() <= 1) {  // the usual step
    const int first = gone.empty() ? n : gone.front();
    std::iota(rest.begin(), rest.begin() + first, 0);
    std::iota(rest.begin() + first, rest.end(), first + 1);
    return;
  }
  std::vector<char> goes(static_cast<std::size_t>(n), 0);
  for (const int i : gone) goes[static_cast<std::size_t>(i)] = 1;
  auto next = rest.begin();
  for (int i = 0; i < n; ++i)
    if (!goes[static_cast<std::size_t>(i)]) *next++ = i;
}

inline std::vector<int> slots_without(std::span<const int> gone, int n) {
  std::vector<int> rest;
  slots_without(gone, n, rest);
  return rest;
}

/// `width` entries for each slot: those of the runs move, then n_kept slots have some.
template <class T>
void keep_entries(std::vector<T>& v, std::span<const SlotRun> runs, int n_kept, int width = 1) {
  for (const SlotRun& r : runs) std::move(v.begin() + r.from * width, v.begin() + (r.from + r.n) * width, v.begin() + r.to * width);
  v.resize(static_cast<std::size_t>(n_kept * width));
}

/// Entries of single slots without those of `gone` (ascending).
template <class T>
void remove_entries(std::vector<T>& v, std::span<const int> gone) {
  const int n = static_cast<int>(v.size());
  keep_entries(v, runs_without(gone, n), n - static_cast<int>(gone.size()));
}

}  // namespace kvscope
