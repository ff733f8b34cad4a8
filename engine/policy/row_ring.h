// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

namespace kvscope {

/// A run of slots that stay neighbours when others go: [from, from + n) moves down to [to, to + n).
struct SlotRun {
  int from = 0, to = 0, n = 0;
};
/// The runs of an ascending list of slots to keep, without those that stay where they are.
std::vector<SlotRun> runs_of(std::span<const int> keep);

/// The last rows of a statistic over the slots, each row [n, width] with the slot outermost. Grows up to max_rows, then the oldest row
/// goes.
class RowRing {
 public:
  RowRing() = default;
  RowRing(int max_rows, int width) : max_rows_(max_rows), width_(width) {}

  int rows() const { return static_cast<int>(rows_.size()); }
  int max_rows() const { return max_rows_; }
  int width() const { return width_; }
  /// Row r, 0 = oldest: [n, width].
  std::span<const double> row(int r) const { return rows_[place(r)]; }
  std::span<double> row(int r) { return rows_[place(r)]; }

  /// A new newest row of n * width numbers, to be filled by the caller.
  std::span<double> push(int n);
  /// One more slot at the end of every row.
  void append_slot(double fill);
  /// The last slot of every row moves to place `to`, those from there on move up.
  void move_last_slot(int to);
  /// Slots [0, n_kept) remain.
  void keep(std::span<const SlotRun> runs, int n_kept);

 private:
  std::size_t place(int r) const { return (oldest_ + static_cast<std::size_t>(r)) % rows_.size(); }

  int max_rows_ = 0;
  int width_ = 1;
  std::size_t oldest_ = 0;
  std::vector<std::vector<double>> rows_;
};

}  // namespace kvscope
