// SPDX-License-Identifier: Apache-2.0
#include "viz/reduce/rows.h"

#include <algorithm>
#include <bit>

#include "core/error.h"
#include "viz/reduce/bins.h"

namespace kvscope::viz {

namespace {
constexpr std::size_t kChangesAhead = 12;  // changes
}  // namespace

void RepresentedRows::count(const Represented& shown, std::span<const Row> rows, const Bins& bins, bool range) {
  const bool same = version_ != 0 && bins == bins_ && range == range_ && std::ranges::equal(rows, rows_);
  if (same && version_ == shown.version()) return;
  if (same && version_ == shown.changed_from()) {
    follow(shown);
  } else {
    rows_.assign(rows.begin(), rows.end());
    bins_ = bins;
    range_ = range;
    count_all(shown);
  }
  version_ = shown.version();
}

void RepresentedRows::count_all(const Represented& shown) {
  KVSCOPE_ASSERT(bins_.bin >= 1 && std::has_single_bit(static_cast<unsigned>(bins_.bin)) && bins_.count >= 0);
  const auto n = static_cast<std::size_t>(bins_.count);
  sums_.assign(rows_.size() * n, 0);
  lows_.assign(range_ ? sums_.size() : 0, static_cast<std::uint32_t>(bins_.bin));
  highs_.assign(lows_.size(), 0);
  heads_.clear();
  row_of_.assign(static_cast<std::size_t>(shown.n_heads()), -1);
  std::vector<std::uint32_t> here(n);
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    const std::span<std::uint32_t> sum(sums_.data() + r * n, n);
    for (int h = rows_[r].first_head; h < rows_[r].first_head + rows_[r].n_heads; ++h) {
      row_of_[static_cast<std::size_t>(h)] = static_cast<int>(r);
      shown.bins(h, bins_.bin, bins_.first, here);
      add_counts(sum, here);
      if (range_) bound_counts({lows_.data() + r * n, n}, {highs_.data() + r * n, n}, here);
    }
  }
}

void RepresentedRows::keep_heads(const Represented& shown) {
  const auto n = static_cast<std::size_t>(bins_.count);
  begin_.clear();
  std::size_t size = 0;
  for (const Row& row : rows_) {
    begin_.push_back(size);
    size += n * static_cast<std::size_t>(row.n_heads);
  }
  heads_.resize(size);
  std::vector<std::uint32_t> here(n);
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    const auto n_heads = static_cast<std::size_t>(rows_[r].n_heads);
    for (std::size_t h = 0; h < n_heads; ++h) {
      shown.bins(rows_[r].first_head + static_cast<int>(h), bins_.bin, bins_.first, here);
      for (std::size_t i = 0; i < n; ++i) heads_[begin_[r] + i * n_heads + h] = here[i];
    }
  }
}

void RepresentedRows::follow(const Represented& shown) {
  if (range_ && heads_.empty() && !sums_.empty()) {  // not before: most windows show one step only
    count_all(shown);
    keep_heads(shown);
    return;
  }
  const int shift = std::countr_zero(static_cast<unsigned>(bins_.bin));
  const auto n = static_cast<std::size_t>(bins_.count);
  std::vector<std::pair<std::size_t, std::size_t>> touched;  // row, bin
  struct Place {
    std::size_t row, bin;
    bool shown;
  };
  const auto place_of = [&](int head, int token) -> Place {
    const int row = row_of_[static_cast<std::size_t>(head)], bin = (token >> shift) - bins_.first;
    return {static_cast<std::size_t>(row), static_cast<std::size_t>(bin), row >= 0 && bin >= 0 && bin < bins_.count};
  };
  const auto count_of = [&](const Place& at, int head) -> std::uint32_t& {
    const Row& of = rows_[at.row];
    return heads_[begin_[at.row] + at.bin * static_cast<std::size_t>(of.n_heads) + static_cast<std::size_t>(head - of.first_head)];
  };
  const auto add = [&](const Represented::Change& change, int token, int tokens) {
    const Place at = place_of(change.head, token);
    if (!at.shown) return;
    const auto by = static_cast<std::uint32_t>(change.by * tokens);  // modulo 2^32, as the sums
    sums_[at.row * n + at.bin] += by;
    if (!range_) return;
    count_of(at, change.head) += by;
    if (touched.empty() || touched.back() != std::pair(at.row, at.bin)) touched.emplace_back(at.row, at.bin);
  };
  const std::span<const Represented::Change> changes = shown.changes();
  for (std::size_t i = 0; i < changes.size(); ++i) {
    if (range_ &&
        i + kChangesAhead < changes.size()) {  // the counts of all heads are many: where the next ones will change is fetched before
      const Represented::Change& next = changes[i + kChangesAhead];
      if (const Place at = place_of(next.head, next.first); at.shown) __builtin_prefetch(&count_of(at, next.head), 1);
    }
    const Represented::Change& change = changes[i];
    if (bins_.bin >= Represented::kWordTokens) {  // a word lies in one bin
      add(change, change.first, std::popcount(change.bits));
      continue;
    }
    for (std::uint64_t left = change.bits; left != 0; left &= left - 1) add(change, change.first + std::countr_zero(left), 1);
  }
  for (const auto& [r, b] : touched) {
    const auto n_heads = static_cast<std::size_t>(rows_[r].n_heads);
    const auto [low, high] = std::ranges::minmax(std::span(heads_).subspan(begin_[r] + b * n_heads, n_heads));
    lows_[r * n + b] = low;
    highs_[r * n + b] = high;
  }
}

}  // namespace kvscope::viz
