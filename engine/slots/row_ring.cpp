// SPDX-License-Identifier: Apache-2.0
#include "slots/row_ring.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/error.h"
#include "core/vector_math.h"

namespace kvscope {
namespace {

constexpr std::size_t kSpare = 2;       // columns beside those of the slots that a cache of constant size comes to need
constexpr double kMostTaken = 1 << 20;  // times what is left: beyond, taking numbers away has cost a sum too many digits
enum : std::size_t { kHigh, kLow, kPeak, kPlaceHigh, kPlaceLow };  // of sums_; plain sums have the first three

}  // namespace

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

std::vector<double> RowRing::gathered(const std::vector<double>& sum) const {
  std::vector<double> out(columns_.size() * static_cast<std::size_t>(width_));
  if (!rows_.empty()) gather(sum, out);
  return out;
}

std::vector<double> RowRing::sums() const {
  if (max_rows_ == 1 && !rows_.empty()) return row(0);
  KVSCOPE_ASSERT(keeps_ != RowSums::none || rows_.empty());
  return gathered(sums_[kHigh]);
}

std::vector<double> RowRing::sums_by_place() const {
  if (max_rows_ == 1) return std::vector<double>(columns_.size() * static_cast<std::size_t>(width_), 0.0);
  KVSCOPE_ASSERT(keeps_ == RowSums::by_place);
  return gathered(sums_[kPlaceHigh]);
}

// In exact numbers: sum' = sum + newest - gone, and with every other row one place lower, by_place' = by_place + rows newest - sum'.
void RowRing::follow(const std::vector<double>& newest, std::span<const double> gone, bool was_full) {
  for (std::size_t s = 0; s < (keeps_ == RowSums::by_place ? sums_.size() : kPlaceHigh); ++s) sums_[s].resize(newest.size(), 0.0);
  auto& [high, low, peak, place_high, place_low] = sums_;
  add_to_sums(high, low, newest, gone);
  if (keeps_ == RowSums::by_place) {
    add_times_to_sums(place_high, place_low, was_full ? rows() : rows() - 1, newest);
    if (was_full) {
      add_times_to_sums(place_high, place_low, -1, high);
      add_times_to_sums(place_high, place_low, -1, low);
    }
  }
  for (std::size_t x = 0; x < peak.size(); ++x) peak[x] = std::max(peak[x], high[x] + gone[x]);
  for (std::size_t x = 0; x < peak.size(); ++x)
    if (!(peak[x] <= kMostTaken * high[x])) sum_anew(x);  // and where a NaN has left
}

void RowRing::sum_anew(std::size_t x) {
  const double nothing = 0;
  auto& [high, low, peak, place_high, place_low] = sums_;
  const bool by_place = keeps_ == RowSums::by_place;
  high[x] = low[x] = 0;
  if (by_place) place_high[x] = place_low[x] = 0;
  for (int r = 0; r < rows(); ++r) {
    const double* number = &rows_[place(r)][x];
    add_to_sums({&high[x], 1}, {&low[x], 1}, {number, 1}, {&nothing, 1});
    if (by_place) add_times_to_sums({&place_high[x], 1}, {&place_low[x], 1}, r, {number, 1});
  }
  peak[x] = high[x];
}

void RowRing::load(std::span<const double> rows, int n_rows) {
  KVSCOPE_ASSERT(rows_.empty() && columns_.empty() && 0 < n_rows && n_rows <= max_rows_);
  const std::size_t size = rows.size() / static_cast<std::size_t>(n_rows);
  n_columns_ = static_cast<int>(size) / width_;
  columns_.resize(static_cast<std::size_t>(n_columns_));
  std::iota(columns_.begin(), columns_.end(), 0);
  const std::vector<double> nothing(size, 0.0);
  for (int r = 0; r < n_rows; ++r) {
    const auto row = rows.subspan(static_cast<std::size_t>(r) * size, size);
    const std::vector<double>& newest = rows_.emplace_back(row.begin(), row.end());
    if (keeps_ != RowSums::none) follow(newest, nothing, /*was_full=*/false);
  }
}

void RowRing::push(std::span<const double> row) {
  KVSCOPE_ASSERT(max_rows_ > 0);
  const std::size_t width = static_cast<std::size_t>(width_);
  if (rows_.empty())
    while (columns_.size() * width < row.size()) columns_.push_back(n_columns_++);
  KVSCOPE_ASSERT(row.size() == columns_.size() * width);
  const std::size_t size = static_cast<std::size_t>(n_columns_) * width;
  const bool was_full = rows() == max_rows_;
  std::vector<double>* newest;
  if (!was_full) {
    KVSCOPE_ASSERT(oldest_ == 0);
    newest = &rows_.emplace_back(size, fill_);
  } else {
    newest = &rows_[oldest_];
    oldest_ = (oldest_ + 1) % rows_.size();
  }
  thread_local std::vector<double> gone;  // kept by its thread: in a step an allocation would cost as much as the work
  if (keeps_ != RowSums::none) gone.assign(newest->begin(), newest->end());
  std::size_t x = 0;
  for (const int column : columns_)
    for (int g = 0; g < width_; ++g) (*newest)[static_cast<std::size_t>(column * width_ + g)] = row[x++];
  if (keeps_ != RowSums::none) follow(*newest, gone, was_full);
  // here, where there is time, and not where a slot comes: every row of a column lies somewhere else
  for (const int column : free_) empty_column(column);
  empty_.insert(empty_.end(), free_.begin(), free_.end());
  free_.clear();
}

void RowRing::append_slot(double fill) {
  KVSCOPE_ASSERT(keeps_ == RowSums::none || fill == 0);
  if (std::exchange(fill_, fill) != fill) {  // the first slot that comes
    free_.insert(free_.end(), empty_.begin(), empty_.end());
    empty_.clear();
  }
  if (empty_.empty() && free_.size() > 1) {
    empty_column(free_.back());
    empty_.push_back(free_.back());
    free_.pop_back();
  }
  if (!empty_.empty()) {
    columns_.push_back(empty_.back());
    empty_.pop_back();
    return;
  }
  columns_.push_back(n_columns_++);
  for (std::vector<double>& sum : sums_)
    if (!sum.empty()) sum.insert(sum.end(), static_cast<std::size_t>(width_), 0.0);
  for (std::vector<double>& row : rows_) row.insert(row.end(), static_cast<std::size_t>(width_), fill);
}

void RowRing::empty_column(int c) {
  const auto first = static_cast<std::ptrdiff_t>(c) * width_;
  for (std::vector<double>& row : rows_) std::fill_n(row.begin() + first, width_, fill_);
  for (std::vector<double>& sum : sums_)
    if (!sum.empty()) std::fill_n(sum.begin() + first, width_, 0.0);
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
  if (free_.size() + empty_.size() > columns_.size() / 8 + 8) close_gaps();
}

/// Columns in the order of the slots, none that is free.
void RowRing::close_gaps() {
  const auto close = [this](std::vector<double>& row) {
    if (row.empty()) return;
    const auto width = static_cast<std::size_t>(width_);
    std::vector<double> closed;
    closed.reserve((columns_.size() + kSpare) * width);
    closed.resize(columns_.size() * width);
    gather(row, closed);
    row = std::move(closed);
  };
  std::ranges::for_each(rows_, close);
  std::ranges::for_each(sums_, close);
  std::iota(columns_.begin(), columns_.end(), 0);
  n_columns_ = slots();
  free_.clear();
  empty_.clear();
}

}  // namespace kvscope
