// SPDX-License-Identifier: Apache-2.0
#include "policy/selection.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "policy/rules.h"

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

std::vector<int> unprotected(const HeadDecision& head) {
  std::vector<int> free;
  free.reserve(head.is_protected.size());
  for (int i = 0; i < head.slots().size(); ++i)
    if (!head.is_protected[at(i)]) free.push_back(i);
  return free;
}

void keep_the_rest(HeadDecision& head) {
  const int n = head.slots().size();
  if (head.gone.size() <= 1) {
    head.keep.resize(at(n) - head.gone.size());
    const int left_out = head.gone.empty() ? n : head.gone.front();
    std::iota(head.keep.begin(), head.keep.begin() + left_out, 0);
    std::iota(head.keep.begin() + left_out, head.keep.end(), left_out + 1);
    return;
  }
  std::vector<char> goes(at(n), 0);
  for (const int i : head.gone) goes[at(i)] = 1;
  head.keep.clear();
  head.keep.reserve(at(n) - head.gone.size());
  for (int i = 0; i < n; ++i)
    if (!goes[at(i)]) head.keep.push_back(i);
}

std::vector<char> protected_mask(const SlotState& slots, const Protection& protection) {
  const int n = slots.size();
  std::vector<char> mask(at(n), 0);
  for (int i = 0; i < n; ++i) mask[at(i)] = slots.pos[at(i)] < protection.sinks || i >= n - protection.recent;
  return mask;
}

void TopSelection::select(HeadDecision& head, int) const {
  const int n = head.slots().size();
  const int over = n - head.budget.value_or(n);
  const int wanted = over <= 0 ? 0 : std::max(over, at_least_);
  const GoesBefore goes_before(head);
  if (wanted == 1) {  // the usual step
    int first = -1;
    for (int i = 0; i < n; ++i)
      if (!head.is_protected[at(i)] && (first < 0 || goes_before(i, first))) first = i;
    head.gone.assign(first < 0 ? 0 : 1, first);
    keep_the_rest(head);
    return;
  }
  std::vector<int> free = unprotected(head);
  const std::size_t n_gone = std::min(free.size(), at(wanted));
  if (n_gone > 0) {
    std::ranges::nth_element(free, free.begin() + static_cast<std::ptrdiff_t>(n_gone) - 1, goes_before);
    head.gone.assign(free.begin(), free.begin() + static_cast<std::ptrdiff_t>(n_gone));
  }
  if (order_ == RemovalOrder::lowest_first)
    std::ranges::sort(head.gone, goes_before);
  else
    std::ranges::sort(head.gone);
  keep_the_rest(head);
}

void RandomSelection::select(HeadDecision& head, int step) const {
  const int n = head.slots().size();
  std::vector<int> left = unprotected(head);
  const int n_gone = std::min(static_cast<int>(left.size()), std::max(0, n - head.budget.value_or(n)));
  head.gone.clear();
  for (int e = 0; e < n_gone; ++e) {
    const double u = uniform_draw(seed_, step, head.view.layer, head.view.kv_head, e);
    const auto drawn = left.begin() + static_cast<std::ptrdiff_t>(std::floor(u * static_cast<double>(left.size())));
    head.gone.push_back(*drawn);
    left.erase(drawn);
  }
  keep_the_rest(head);
}

void TwoStageSelection::select(HeadDecision& head, int) const {
  const int n = head.slots().size();
  std::vector<int> free = unprotected(head);
  const int n_free = static_cast<int>(free.size());
  const int b = std::clamp(head.budget.value_or(n) - (n - n_free), 0, n_free);
  const GoesBefore goes_before(head);
  const auto stays_before = [&](int x, int y) { return goes_before(y, x); };
  const auto first = free.begin() + static_cast<std::ptrdiff_t>(std::floor(alpha_ * b));
  const auto end = free.begin() + b;
  if (first != free.end()) std::ranges::nth_element(free, first, stays_before);
  const std::vector<double> nu = head.view.keys->value_norms();
  for (int i = 0; i < n; ++i) head.score[at(i)] = (head.score[at(i)] + eps_) * nu[at(i)];
  if (end != free.end()) std::ranges::nth_element(first, end, free.end(), stays_before);
  for (int i = 0; i < n; ++i)
    if (!head.is_protected[at(i)]) head.plan.score[at(i)] = head.score[at(i)];
  head.gone.assign(end, free.end());
  std::ranges::sort(head.gone);
  keep_the_rest(head);
}

}  // namespace kvscope
