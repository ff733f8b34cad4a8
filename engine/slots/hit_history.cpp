// SPDX-License-Identifier: Apache-2.0
#include "slots/hit_history.h"

#include <algorithm>
#include <bit>

#include "core/error.h"
#include "core/place.h"

namespace kvscope {

HitHistory::HitHistory(int window, int slots)
    : window_(window), words_((window + 63) / 64), bits_(at(slots) * at(words_)), counts_(at(slots)) {
  KVSCOPE_ASSERT(window > 0);
}

void HitHistory::append_slot() {
  bits_.insert(bits_.end(), at(words_), 0);
  counts_.push_back(0);
}

void HitHistory::push(std::span<const double> row, double threshold) {
  KVSCOPE_ASSERT(row.size() <= counts_.size() && window_ > 0);
  const std::uint64_t mask = std::uint64_t{1} << (next_ % 64);
  std::uint64_t* word = bits_.data() + next_ / 64;
  for (std::size_t i = 0; i < counts_.size(); ++i, word += words_) {
    const bool was = (*word & mask) != 0, is = i < row.size() && row[i] >= threshold;
    if (was != is) {
      *word ^= mask;
      counts_[i] += is ? 1 : -1;
    }
  }
  next_ = (next_ + 1) % window_;
  rows_ = std::min(rows_ + 1, window_);
}

void HitHistory::push_rows(std::span<const std::uint64_t> rows, int n) {
  KVSCOPE_ASSERT(rows.size() == counts_.size() && window_ > 0 && n <= 64);
  for (int done = 0; done < n;) {  // what goes into one word
    const int bit = next_ % 64, count = std::min({n - done, 64 - bit, window_ - next_});
    const std::uint64_t mask = ~std::uint64_t{0} >> (64 - count);
    std::uint64_t* word = bits_.data() + next_ / 64;
    for (std::size_t i = 0; i < rows.size(); ++i, word += words_) {
      const std::uint64_t hits = (rows[i] >> done) & mask;
      counts_[i] += std::popcount(hits) - std::popcount((*word >> bit) & mask);
      *word = (*word & ~(mask << bit)) | hits << bit;
    }
    next_ = (next_ + count) % window_;
    rows_ = std::min(rows_ + count, window_);
    done += count;
  }
}

void HitHistory::move_last_slot(int to) {
  std::rotate(counts_.begin() + to, counts_.end() - 1, counts_.end());
  std::rotate(bits_.begin() + static_cast<std::ptrdiff_t>(to) * words_, bits_.end() - words_, bits_.end());
}

void HitHistory::keep(std::span<const SlotRun> runs, int n_kept) {
  for (const SlotRun& r : runs) {
    std::copy_n(counts_.begin() + r.from, r.n, counts_.begin() + r.to);
    std::copy_n(bits_.begin() + static_cast<std::ptrdiff_t>(r.from) * words_, static_cast<std::ptrdiff_t>(r.n) * words_,
                bits_.begin() + static_cast<std::ptrdiff_t>(r.to) * words_);
  }
  counts_.resize(at(n_kept));
  bits_.resize(at(n_kept) * at(words_));
}

HitHistory HitHistory::narrowed(int window) const {
  KVSCOPE_ASSERT(window <= window_);
  if (window == window_) return *this;
  HitHistory out(window);
  for (int i = 0; i < slots(); ++i) out.append_slot();
  out.rows_ = std::min(rows_, window);
  out.next_ = out.rows_ % window;
  for (int r = 0; r < out.rows_; ++r) {  // r: place in the new ring, oldest first
    for (int i = 0; i < slots(); ++i) {
      if (!hit(i, rows_ - out.rows_ + r)) continue;
      out.set(i, r, true);
      ++out.counts_[at(i)];
    }
  }
  return out;
}

void HitHistory::set(int slot, int place, bool hit) {
  std::uint64_t& word = bits_[at(slot) * at(words_) + at(place / 64)];
  const std::uint64_t mask = std::uint64_t{1} << (place % 64);
  word = hit ? word | mask : word & ~mask;
}

bool HitHistory::get(int slot, int place) const { return (bits_[at(slot) * at(words_) + at(place / 64)] >> (place % 64)) & 1; }

}  // namespace kvscope
