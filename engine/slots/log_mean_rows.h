// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "slots/row_ring.h"

namespace kvscope {

/// The last rows of z, per slot and query head, and of each ln( (1/n) sum over the n rows that scored it of e^z ): the sum is kept up to
/// date with the row that comes and the one that goes, so that a step does not look at all rows. Entries are [slots, group], -inf where not
/// scored.
class LogMeanRows {
 public:
  LogMeanRows() = default;
  LogMeanRows(int max_rows, int group) : ring_(max_rows, group) {}

  int rows() const { return ring_.rows(); }
  int max_rows() const { return ring_.max_rows(); }
  /// Row r, 0 = oldest: [slots, group].
  std::vector<double> row(int r) const;
  const RowRing& ring() const { return ring_; }
  /// Into `out`, whose memory a caller may use again: [slots, group]; -inf where no row has scored.
  void log_means(std::vector<double>& out) const;

  /// The first rows at once, z [n_rows, slots, group], oldest first: as if each had been pushed.
  void load(std::span<const double> z, int n_rows);
  /// A new newest row: [slots, group].
  void push(std::span<const double> z);
  /// The rows of a slot are moved by a constant for each query head, so that their log-means become these: [group].
  void set_log_mean(int slot, std::span<const double> log_mean);
  /// One more slot at the end, not scored by any row.
  void append_slot();
  /// The last slot moves to place `to`, those from there on move up.
  void move_last_slot(int to);
  /// Slots [0, n_kept) remain.
  void keep(std::span<const SlotRun> runs, int n_kept);

 private:
  /// sum over the scored rows of an entry of e^(z - top), 0 and -inf where there are none. top: at least the largest z, not far above.
  struct Sum {
    double top, total;
    int n;
  };
  Sum sum_of(std::size_t x) const;
  void sum_anew(std::size_t x);

  RowRing ring_;                              // z less the offset of its entry
  std::vector<double> offset_, top_, total_;  // of every entry; top and total as in Sum, of the numbers in the ring
  std::vector<int> n_;
  std::size_t pushed_ = 0;  // rows so far
};

}  // namespace kvscope
