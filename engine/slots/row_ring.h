// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "core/slot_runs.h"

namespace kvscope {

/// Which sums over its rows a RowRing keeps: none, the sum, or that and the sum of every row times its place (0: the oldest).
enum class RowSums : std::uint8_t { none, plain, by_place };

/// The last rows of a statistic over the slots, `width` numbers for each slot. Grows up to max_rows, then the oldest row goes. Numbers stay
/// where they are while slots come and go: a slot has a column of its own, and a new slot takes one that has become free.
class RowRing {
 public:
  RowRing() = default;
  /// With sums new slots begin with zeros. The sum of a single row is that row, and its place is 0: nothing is kept for it.
  RowRing(int max_rows, int width, RowSums keeps = RowSums::none)
      : max_rows_(max_rows), width_(width), keeps_(max_rows == 1 ? RowSums::none : keeps) {}

  int rows() const { return static_cast<int>(rows_.size()); }
  int max_rows() const { return max_rows_; }
  int width() const { return width_; }
  int slots() const { return static_cast<int>(columns_.size()); }
  /// Row r, 0 = oldest: [slots, width].
  std::vector<double> row(int r) const;
  /// The same, written to `out`.
  void copy_row(int r, std::span<double> out) const;
  /// Number g of a slot in row r; only without sums it may be changed.
  double& number(int r, int slot, int g) { return rows_[place(r)][index(slot, g)]; }
  double number(int r, int slot, int g) const { return rows_[place(r)][index(slot, g)]; }
  /// Sum of the rows, [slots, width], as if it had been rounded once: the order and the rows that have left do not show.
  std::vector<double> sums() const;
  /// Sum of the rows times their places, [slots, width], as exact beside the sum.
  std::vector<double> sums_by_place() const;

  /// The first rows at once, [n_rows, slots, width], oldest first: the same as pushing them, only faster.
  void load(std::span<const double> rows, int n_rows);
  /// A new newest row: [slots, width]. The first one says how many slots there are.
  void push(std::span<const double> row);
  /// One more slot at the end of every row.
  void append_slot(double fill);
  /// The last slot of every row moves to place `to`, those from there on move up.
  void move_last_slot(int to);
  /// Slots [0, n_kept) remain.
  void keep(std::span<const SlotRun> runs, int n_kept);
  /// body(std::span<const double>) for all memory that the next push() and the next look at all rows will read, for whoever wants it to be
  /// near.
  template <class Body>
  void for_memory(const Body& body) const {
    if (keeps_ == RowSums::none) {
      for (const std::vector<double>& row : rows_) body(std::span(row));
    } else if (!rows_.empty()) {
      body(std::span(rows_[oldest_]));
      for (const std::vector<double>& sum : sums_) body(std::span(sum));
    }
  }

 private:
  std::size_t place(int r) const {
    const std::size_t p = oldest_ + static_cast<std::size_t>(r);
    return p < rows_.size() ? p : p - rows_.size();
  }
  std::size_t index(int slot, int g) const { return static_cast<std::size_t>(columns_[static_cast<std::size_t>(slot)] * width_ + g); }
  /// A row as its slots stand in it, in their order.
  void gather(std::span<const double> row, std::span<double> out) const;
  void close_gaps();
  /// Column c of every row as that of a slot which has just come.
  void empty_column(int c);
  std::vector<double> gathered(const std::vector<double>& sum) const;
  /// The newest row is in its place, the one that had it is `gone` (zeros: none had it).
  void follow(const std::vector<double>& newest, std::span<const double> gone, bool was_full);
  void sum_anew(std::size_t x);

  int max_rows_ = 0;
  int width_ = 1;
  RowSums keeps_ = RowSums::none;
  std::size_t oldest_ = 0;
  std::vector<std::vector<double>> rows_;  // [columns, width] each
  std::vector<int> columns_;               // of every slot
  std::vector<int> free_, empty_;          // columns of no slot: as that has left them; as a new slot wants them
  double fill_ = 0;                        // of new slots
  int n_columns_ = 0;
  // [columns, width] each, where sums are kept: the sums, of two parts (add_to_sums()), the largest that each has been since it was added
  // up from all rows, and the sums by place, of two parts
  std::array<std::vector<double>, 5> sums_;
};

}  // namespace kvscope
