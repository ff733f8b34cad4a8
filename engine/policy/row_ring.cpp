// SPDX-License-Identifier: Apache-2.0
#include "policy/row_ring.h"

#include <algorithm>

#include "core/error.h"

namespace kvscope {

std::vector<SlotRun> runs_of(std::span<const int> keep) {
  std::vector<SlotRun> runs;
  const int n = static_cast<int>(keep.size());
  int first = 0;
  while (first < n && keep[static_cast<std::size_t>(first)] == first) ++first;
  if (first == n) return runs;
  const int moved = keep[static_cast<std::size_t>(first)] - first;
  if (keep.back() - (n - 1) == moved) return {{first + moved, first, n - first}};  // the usual step: one gap, the rest moves up
  for (int to = first; to < n; ++to) {
    const int from = keep[static_cast<std::size_t>(to)];
    if (!runs.empty() && runs.back().from + runs.back().n == from)
      ++runs.back().n;
    else
      runs.push_back({from, to, 1});
  }
  return runs;
}

std::span<double> RowRing::push(int n) {
  const std::size_t size = static_cast<std::size_t>(n) * static_cast<std::size_t>(width_);
  KVSCOPE_ASSERT(max_rows_ > 0);
  if (rows() < max_rows_) {
    KVSCOPE_ASSERT(oldest_ == 0);
    rows_.emplace_back(size);
    return rows_.back();
  }
  std::vector<double>& row = rows_[oldest_];
  oldest_ = (oldest_ + 1) % rows_.size();
  row.resize(size);
  return row;
}

void RowRing::append_slot(double fill) {
  for (std::vector<double>& row : rows_)
    for (int g = 0; g < width_; ++g) row.push_back(fill);
}

void RowRing::move_last_slot(int to) {
  for (std::vector<double>& row : rows_) std::rotate(row.begin() + static_cast<std::ptrdiff_t>(to) * width_, row.end() - width_, row.end());
}

void RowRing::keep(std::span<const SlotRun> runs, int n_kept) {
  const auto offset = [this](int slot) { return static_cast<std::ptrdiff_t>(slot) * width_; };
  for (std::vector<double>& row : rows_) {
    for (const SlotRun& r : runs) std::copy_n(row.begin() + offset(r.from), offset(r.n), row.begin() + offset(r.to));
    row.resize(static_cast<std::size_t>(offset(n_kept)));
  }
}

}  // namespace kvscope
