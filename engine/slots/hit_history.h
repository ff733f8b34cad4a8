// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "slots/row_ring.h"

namespace kvscope {

/// For every slot, which of the last `window` rows hit it. One bit per (slot, row), and the number of hits per slot kept beside them, so
/// that a step costs one look at every slot however long the window is.
class HitHistory {
 public:
  HitHistory() = default;
  explicit HitHistory(int window, int slots = 0);

  int window() const { return window_; }
  /// Rows so far, at most the window.
  int rows() const { return rows_; }
  /// Row r, 0 = oldest, hit the slot.
  bool hit(int slot, int r) const { return get(slot, (next_ + window_ - rows_ + r) % window_); }
  int slots() const { return static_cast<int>(counts_.size()); }
  /// Hits of every slot among the last `window` rows.
  std::span<const int> counts() const { return counts_; }

  /// One more slot at the end, without hits.
  void append_slot();
  /// A new newest row: the first row.size() slots are hit where row[i] >= threshold, the others are not.
  void push(std::span<const double> row, double threshold);
  /// n <= 64 new rows at once: bit r of rows[slot] says whether row r hit the slot, the last row newest. One entry per slot.
  void push_rows(std::span<const std::uint64_t> rows, int n);
  /// The last slot moves to place `to`, those from there on move up.
  void move_last_slot(int to);
  /// Slots [0, n_kept) remain.
  void keep(std::span<const SlotRun> runs, int n_kept);
  /// The same rows, of which only the last `window` count (not more than this history has).
  HitHistory narrowed(int window) const;

 private:
  void set(int slot, int place, bool hit);
  bool get(int slot, int place) const;

  int window_ = 0;
  int words_ = 0;                    // 64-bit words per slot
  int rows_ = 0;                     // rows pushed, at most window_
  int next_ = 0;                     // place of the next row in the ring
  std::vector<std::uint64_t> bits_;  // [slots, words]
  std::vector<int> counts_;          // [slots]
};

}  // namespace kvscope
