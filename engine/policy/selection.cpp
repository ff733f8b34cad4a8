// SPDX-License-Identifier: Apache-2.0
#include "policy/selection.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace kvscope {
namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

/// "Goes before": the lowest score first; of equal ones the lower tie_break, then the higher pos.
class GoesBefore {
 public:
  explicit GoesBefore(const HeadDecision& head) : score_(head.score), tie_(head.tie_break) {}
  bool operator()(int a, int b) const {
    const double x = value(a), y = value(b);
    if (x != y) return x < y;
    if (!tie_.empty() && tie_[at(a)] != tie_[at(b)]) return tie_[at(a)] < tie_[at(b)];
    return a > b;  // slots are stored in order of pos
  }

 private:
  double value(int i) const { return std::isnan(score_[at(i)]) ? -std::numeric_limits<double>::infinity() : score_[at(i)]; }

  const std::vector<double>& score_;
  const std::vector<double>& tie_;
};

}  // namespace

std::vector<char> protected_mask(const SlotState& slots, const Protection& protection) {
  const int n = slots.size();
  std::vector<char> mask(at(n), 0);
  for (int i = 0; i < n; ++i) mask[at(i)] = slots.pos[at(i)] < protection.sinks || i >= n - protection.recent;
  return mask;
}

void TopSelection::select(HeadDecision& head, int) const {
  const int n = head.slots().size();
  std::vector<int> free;
  free.reserve(at(n));
  for (int i = 0; i < n; ++i)
    if (!head.is_protected[at(i)]) free.push_back(i);
  const std::size_t n_gone = std::min(free.size(), at(std::max(0, n - head.budget.value_or(n))));
  const GoesBefore goes_before(head);
  if (n_gone == 1) {
    head.gone.assign(1, *std::ranges::min_element(free, goes_before));
  } else if (n_gone > 0) {
    std::ranges::nth_element(free, free.begin() + static_cast<std::ptrdiff_t>(n_gone) - 1, goes_before);
    head.gone.assign(free.begin(), free.begin() + static_cast<std::ptrdiff_t>(n_gone));
  }
  if (order_ == RemovalOrder::lowest_first)
    std::ranges::sort(head.gone, goes_before);
  else
    std::ranges::sort(head.gone);
  std::vector<char> goes(at(n), 0);
  for (const int i : head.gone) goes[at(i)] = 1;
  head.keep.clear();
  head.keep.reserve(at(n) - n_gone);
  for (int i = 0; i < n; ++i)
    if (!goes[at(i)]) head.keep.push_back(i);
}

}  // namespace kvscope
