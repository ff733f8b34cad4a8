// SPDX-License-Identifier: Apache-2.0
#include "viz/reduce/difference.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "viz/reduce/bins.h"

namespace kvscope::viz {

namespace {

/// Of 64 tokens from `first` on, those before `n`.
std::uint64_t bits_before(std::int64_t n, std::int64_t first) {
  const std::int64_t left = n - first;
  return left >= 64 ? ~std::uint64_t{0} : left <= 0 ? 0 : (std::uint64_t{1} << left) - 1;
}

/// Bits set in both; those after the tokens that a lane has seen are 0.
std::int64_t count_both(const LaneDifference& cells) {
  std::int64_t both = 0;
  for (int h = 0; h < cells.n_heads(); ++h) {
    const auto x = cells.a().bits(h), y = cells.b().bits(h);
    const std::size_t n = std::min({x.size(), y.size(), static_cast<std::size_t>(cells.n_tokens() / 64)});
    both += common_bits(x.first(n), y.first(n));
    if (n < std::min(x.size(), y.size()))
      both += std::popcount(x[n] & y[n] & bits_before(cells.n_tokens(), static_cast<std::int64_t>(n) * 64));
  }
  return both;
}

}  // namespace

LaneDifference::LaneDifference(const Represented& a, const Represented& b, int n_alike)
    : a_(&a),
      b_(&b),
      n_heads_(std::min(a.n_heads(), b.n_heads())),
      n_tokens_(std::min({a.n_tokens(), b.n_tokens(), n_alike})),
      n_alike_(n_alike) {}

Difference LaneDifference::at(int head, int token) const {
  const bool in_a = a_->at(head, token), in_b = b_->at(head, token);
  return in_a ? (in_b ? Difference::both : Difference::only_a) : (in_b ? Difference::only_b : Difference::neither);
}

const std::array<std::int64_t, 4>& DifferenceCounts::of(const LaneDifference& cells) {
  if (cells.empty()) {
    *this = {};
    return counts_;
  }
  const bool known = version_a_ != 0 && n_alike_ == cells.n_alike() && a_ == &cells.a() && b_ == &cells.b() &&
                     version_a_ == a_->version() && version_b_ == b_->version();
  if (!known) {
    a_ = &cells.a();
    b_ = &cells.b();
    version_a_ = a_->version();
    version_b_ = b_->version();
    n_alike_ = cells.n_alike();
    both_ = count_both(cells);
  }
  const auto sum = [n = cells.n_tokens()](const Represented& lane) {
    const auto heads = lane.heads_per_token();
    return std::accumulate(heads.begin(), heads.begin() + n, std::int64_t{0});
  };
  const std::int64_t only_a = sum(*a_) - both_, only_b = sum(*b_) - both_;
  counts_ = {cells.total() - only_a - only_b - both_, only_a, only_b, both_};
  return counts_;
}

void DifferenceCounts::follow(const Represented& moved) {
  if (version_a_ == 0 || (&moved != a_ && &moved != b_)) return;
  std::uint64_t& version = &moved == a_ ? version_a_ : version_b_;
  if (moved.version() == version) return;
  if (a_ == b_ || moved.changed_from() != version) {
    version_a_ = version_b_ = 0;
    return;
  }
  const Represented& other = &moved == a_ ? *b_ : *a_;
  for (const Represented::Change& change : moved.changes()) {
    if (change.head >= other.n_heads()) continue;
    const auto bits = other.bits(change.head);  // 0 after what it has seen
    if (const auto word = static_cast<std::size_t>(change.first) / 64; word < bits.size())
      both_ += change.by * std::popcount(change.bits & bits[word] & bits_before(n_alike_, static_cast<std::int64_t>(word) * 64));
  }
  version = moved.version();
}

}  // namespace kvscope::viz
