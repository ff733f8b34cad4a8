// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "viz/reduce/represented.h"

namespace kvscope::viz {

/// Tokens represented in bins of a window, by rows that stand for one head or for several. Counted once, then followed from step to step:
/// what a step costs is what it changes, not what there is.
class RepresentedRows {
 public:
  /// Heads [first_head, first_head + n_heads) of one row.
  struct Row {
    int first_head = 0, n_heads = 1;
    bool operator==(const Row&) const = default;
  };
  /// Bins [first, first + count) of `bin` tokens, a power of two.
  struct Bins {
    int bin = 1, first = 0, count = 0;
    bool operator==(const Bins&) const = default;
  };

  /// Takes over what it knows where `shown` has moved on from what was asked for last. `range`: lows() and highs() are wanted, too.
  void count(const Represented& shown, std::span<const Row> rows, const Bins& bins, bool range = false);

  /// [rows, bins] token-heads.
  std::span<const std::uint32_t> sums() const { return sums_; }
  /// [rows, bins] tokens in the row's head with the fewest and the most of them; empty without `range`.
  std::span<const std::uint32_t> lows() const { return lows_; }
  std::span<const std::uint32_t> highs() const { return highs_; }

 private:
  void count_all(const Represented& shown);
  void keep_heads(const Represented& shown);
  void follow(const Represented& shown);

  std::uint64_t version_ = 0;  // of what was counted; 0: nothing
  std::vector<Row> rows_;
  Bins bins_;
  bool range_ = false;
  std::vector<std::uint32_t> sums_, lows_, highs_;
  // For lows and highs, from the first step that is followed on: [row][bin][head of the row], where they begin by row.
  std::vector<std::uint32_t> heads_;
  std::vector<std::size_t> begin_;
  std::vector<int> row_of_;  // by head, -1: none
};

}  // namespace kvscope::viz
