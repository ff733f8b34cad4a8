// SPDX-License-Identifier: Apache-2.0
#include "policy/selection.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/vector_math.h"
#include "policy/rules.h"

namespace kvscope {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

std::size_t at(int i) { return static_cast<std::size_t>(i); }

double as_ranked(double score) { return std::isnan(score) ? -kInf : score; }

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
  double value(int i) const { return as_ranked(score_[at(i)]); }

  const std::vector<double>& score_;
  const std::vector<double>& tie_;
};

/// The slot that goes before all others that are not protected; -1: there is none.
int first_to_go(const HeadDecision& head, const GoesBefore& goes_before) {
  // without branches and in four lanes: what is protected may lie all over the place
  constexpr int kLanes = 4;
  const int n = static_cast<int>(head.is_protected.size());
  const auto value = [&](int i) { return head.is_protected[at(i)] ? kInf : as_ranked(head.score[at(i)]); };
  double low[kLanes] = {kInf, kInf, kInf, kInf};
  const auto lower = [](double& least, double x) { least = x < least ? x : least; };
  int i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (int j = 0; j < kLanes; ++j) lower(low[j], value(i + j));
  for (; i < n; ++i) lower(low[0], value(i));
  const double lowest = *std::min_element(low, low + kLanes);
  int first = -1;
  for (i = n - 1; i >= 0; --i)
    if (value(i) == lowest && !head.is_protected[at(i)] && (first < 0 || goes_before(i, first))) first = i;
  return first;
}

/// Moves the k slots that stay longest to the front.
void move_best(std::span<int> slots, std::size_t k, const HeadDecision& head, const GoesBefore& goes_before) {
  if (k == 0 || k >= slots.size()) return;
  std::vector<double> values;
  values.reserve(slots.size());
  for (const int i : slots) values.push_back(as_ranked(head.score[at(i)]));
  const std::optional<Largest> best = largest(values, static_cast<int>(k));
  const auto stays_before = [&](int x, int y) { return goes_before(y, x); };
  if (!best) {
    std::ranges::nth_element(slots, slots.begin() + static_cast<std::ptrdiff_t>(k), stays_before);
    return;
  }
  std::vector<int> equals(slots.size()), rest(slots.size());
  std::size_t n_above = 0, n_equal = 0, n_rest = 0;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const int slot = slots[i];
    slots[n_above] = equals[n_equal] = rest[n_rest] = slot;
    n_above += values[i] > best->least;
    n_equal += values[i] == best->least;
    n_rest += values[i] < best->least;
  }
  equals.resize(n_equal);
  if (k > n_above && k - n_above < n_equal)
    std::ranges::nth_element(equals, equals.begin() + static_cast<std::ptrdiff_t>(k - n_above), stays_before);
  const auto end = std::ranges::copy(equals, slots.begin() + static_cast<std::ptrdiff_t>(n_above)).out;
  std::copy_n(rest.begin(), n_rest, end);
}

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
    const int first = first_to_go(head, goes_before);
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
  const auto n_first = static_cast<std::size_t>(std::floor(alpha_ * b));
  move_best(free, n_first, head, goes_before);
  const std::vector<double> nu = head.view.keys->value_norms();
  for (int i = 0; i < n; ++i) head.score[at(i)] = (head.score[at(i)] + eps_) * nu[at(i)];
  move_best(std::span(free).subspan(n_first), at(b) - n_first, head, goes_before);
  for (int i = 0; i < n; ++i)
    if (!head.is_protected[at(i)]) head.plan.score[at(i)] = head.score[at(i)];
  head.gone.assign(free.begin() + b, free.end());
  std::ranges::sort(head.gone);
  keep_the_rest(head);
}

}  // namespace kvscope
