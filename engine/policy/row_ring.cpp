// SPDX-License-Identifier: Apache-2.0
#include "policy/row_ring.h"

#include <algorithm>
#include <numeric>

#include "core/error.h"
#include "core/vector_math.h"

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

std::vector<double> RowRing::row(int r) const {
  std::vector<double> out(columns_.size() * static_cast<std::size_t>(width_));
  copy_row(r, out);
  return out;
}

void RowRing::copy_row(int r, std::span<double> out) const { gather(rows_[place(r)], out); }

void RowRing::gather(std::span<const double> row, std::span<double> out) const {
  std::size_t x = 0;
  for (const int column : columns_)
    for (int g = 0; g < width_; ++g) out[x++] = row[static_cast<std::size_t>(column * width_ + g)];
}

std::vector<double> RowRing::weighted_sum(std::span<const double> weights) const {
  thread_local std::vector<const double*> rows;  // kept by its thread: in a step an allocation would cost as much as the work
  thread_local std::vector<double> sums;
  rows.clear();
  for (int r = 0; r < this->rows(); ++r) rows.push_back(rows_[place(r)].data());
  sums.resize(static_cast<std::size_t>(n_columns_ * width_));
  kvscope::weighted_sum(rows, weights, sums);
  std::vector<double> out(columns_.size() * static_cast<std::size_t>(width_));
  gather(sums, out);
  return out;
}

void RowRing::push(std::span<const double> row) {
  KVSCOPE_ASSERT(max_rows_ > 0);
  const std::size_t width = static_cast<std::size_t>(width_);
  if (rows_.empty())
    while (columns_.size() * width < row.size()) columns_.push_back(n_columns_++);
  KVSCOPE_ASSERT(row.size() == columns_.size() * width);
  std::vector<double>* newest;
  if (rows() < max_rows_) {
    KVSCOPE_ASSERT(oldest_ == 0);
    newest = &rows_.emplace_back(static_cast<std::size_t>(n_columns_) * width);
  } else {
    newest = &rows_[oldest_];
    oldest_ = (oldest_ + 1) % rows_.size();
  }
  std::size_t x = 0;
  for (const int column : columns_)
    for (int g = 0; g < width_; ++g) (*newest)[static_cast<std::size_t>(column * width_ + g)] = row[x++];
}

void RowRing::append_slot(double fill) {
  if (!free_.empty()) {
    const std::size_t first = static_cast<std::size_t>(free_.back() * width_);
    columns_.push_back(free_.back());
    free_.pop_back();
    for (std::vector<double>& row : rows_) std::fill_n(row.begin() + static_cast<std::ptrdiff_t>(first), width_, fill);
    return;
  }
  columns_.push_back(n_columns_++);
  for (std::vector<double>& row : rows_) row.insert(row.end(), static_cast<std::size_t>(width_), fill);
}

void RowRing::move_last_slot(int to) {
  if (!columns_.empty()) std::rotate(columns_.begin() + to, columns_.end() - 1, columns_.end());
}

void RowRing::keep(std::span<const SlotRun> runs, int n_kept) {
  if (columns_.empty()) return;
  const auto slots = columns_.begin();
  int next = runs.empty() ? n_kept : runs.front().to;  // the first slot of which it is not known yet whether it stays
  for (const SlotRun& r : runs) {
    free_.insert(free_.end(), slots + next, slots + r.from);
    next = r.from + r.n;
  }
  free_.insert(free_.end(), slots + next, columns_.end());
  for (const SlotRun& r : runs) std::copy_n(slots + r.from, r.n, slots + r.to);
  columns_.resize(static_cast<std::size_t>(n_kept));
  if (free_.size() > columns_.size() / 8 + 8) close_gaps();
}

/// Columns in the order of the slots, none that is free.
void RowRing::close_gaps() {
  for (std::vector<double>& row : rows_) {
    std::vector<double> closed(columns_.size() * static_cast<std::size_t>(width_));
    gather(row, closed);
    row = std::move(closed);
  }
  std::iota(columns_.begin(), columns_.end(), 0);
  n_columns_ = slots();
  free_.clear();
}

}  // namespace kvscope
