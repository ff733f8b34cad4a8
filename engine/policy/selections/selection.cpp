// SPDX-License-Identifier: Apache-2.0
#include "policy/selections/selection.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/place.h"
#include "core/slot_runs.h"
#include "core/vector_math.h"
#include "policy/rules.h"

namespace kvscope {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

double as_ranked(double score) { return std::isnan(score) ? -kInf : score; }

/// "Goes before": the lowest score first; of equal ones the lower tie_break, then the higher pos.
class GoesBefore {
 public:
  GoesBefore(const std::vector<double>& score, const std::vector<double>& tie_break) : score_(score), tie_(tie_break) {}
  explicit GoesBefore(const HeadDecision& head) : GoesBefore(head.score, head.tie_break) {}
  bool operator()(int a, int b) const {
    const double x = value(a), y = value(b);
    if (x != y) return x < y;
    if (!tie_.empty() && tie_[at(a)] != tie_[at(b)]) return tie_[at(a)] < tie_[at(b)];
    return a > b;  // slots are stored in order of pos
  }
  double value(int i) const { return as_ranked(score_[at(i)]); }
  std::span<const double> scores() const { return score_; }

 private:
  const std::vector<double>& score_;
  const std::vector<double>& tie_;
};

/// The slot that goes before all others that are not left out; -1: there is none.
int first_to_go(const GoesBefore& goes_before, std::span<const char> left_out) {
  const std::span<const double> scores = goes_before.scores();
  const double least = lowest(scores, left_out);
  int first = -1;
  for (int i = static_cast<int>(left_out.size()) - 1; i >= 0; --i) {
    const double score = scores[at(i)];
    if (score > least || left_out[at(i)] || as_ranked(score) != least) continue;  // most scores are larger
    if (first < 0 || goes_before(i, first)) first = i;
  }
  return first;
}

/// Moves the k slots that stay longest to the front.
void move_best(std::span<int> slots, std::size_t k, const GoesBefore& goes_before) {
  if (k == 0 || k >= slots.size()) return;
  std::vector<double> values;
  values.reserve(slots.size());
  for (const int i : slots) values.push_back(goes_before.value(i));
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

/// Of all that are not protected but one, n_first stay by the first order, the others by the second: the one that goes.
int last_of_two_stages(const GoesBefore& by_first, const GoesBefore& by_second, int n_first, std::vector<char> left_out) {
  const std::vector<char> is_protected = left_out;
  const int n = static_cast<int>(left_out.size());
  for (;;) {
    const int slot = first_to_go(by_second, left_out);
    int n_before = 0;  // slots that stay rather than this one by the first order
    for (int i = 0; i < n; ++i) n_before += !is_protected[at(i)] && by_first(slot, i);
    if (n_before >= n_first) return slot;
    left_out[at(slot)] = 1;
  }
}

}  // namespace

std::vector<int> unprotected(const HeadDecision& head) {
  std::vector<int> free;
  free.reserve(head.is_protected.size());
  for (int i = 0; i < head.slots().size(); ++i)
    if (!head.is_protected[at(i)]) free.push_back(i);
  return free;
}

void keep_the_rest(HeadDecision& head) { slots_without(head.gone, head.slots().size(), head.keep); }

void protected_mask(const SlotState& slots, const Protection& protection, std::vector<char>& mask) {
  const int n = slots.size();
  mask.assign(at(n), 0);
  std::fill(mask.begin(), mask.begin() + (std::ranges::lower_bound(slots.pos, protection.sinks) - slots.pos.begin()), 1);
  std::fill(mask.end() - std::clamp(protection.recent, 0, n), mask.end(), 1);
}

std::vector<char> protected_mask(const SlotState& slots, const Protection& protection) {
  std::vector<char> mask;
  protected_mask(slots, protection, mask);
  return mask;
}

void TopSelection::select(HeadDecision& head, int) const {
  const int n = head.slots().size(), wanted = n_lowest(n, head.budget.value_or(n));
  const GoesBefore goes_before(head);
  if (wanted == 1) {  // the usual step
    const int first = first_to_go(goes_before, head.is_protected);
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

std::string TwoStageSelection::equation() const {
  return fmt::format("that is A: the best {:g} % by it alone, the others by (A + {:g}) ν, ν the 1-norm of the projected value",
                     100 * alpha_, eps_);
}

void TwoStageSelection::select(HeadDecision& head, int) const {
  const int n = head.slots().size();
  const int n_free = static_cast<int>(std::ranges::count(head.is_protected, 0));
  const int b = std::clamp(head.budget.value_or(n) - (n - n_free), 0, n_free);
  const int n_protected = of_all_ ? n - n_free : 0;
  const int by_share = static_cast<int>(std::floor(alpha_ * (b + n_protected))) - n_protected;
  const int n_first = std::clamp(std::max(by_share, head.safe - (n - n_free)), 0, b);
  const std::vector<double> first_score = head.score, nu = head.view.keys->value_norms();
  head.view.note("A", first_score);
  head.view.note("ν", nu);
  for (int i = 0; i < n; ++i) head.score[at(i)] = (head.score[at(i)] + eps_) * nu[at(i)];
  for (int i = 0; i < n; ++i) head.plan.score[at(i)] = head.is_protected[at(i)] ? head.plan.score[at(i)] : head.score[at(i)];
  const GoesBefore by_first(first_score, head.tie_break), by_second(head);
  if (n_free - b == 1) {  // the usual step
    head.gone.assign(1, last_of_two_stages(by_first, by_second, n_first, head.is_protected));
  } else {
    std::vector<int> free = unprotected(head);
    move_best(free, at(n_first), by_first);
    move_best(std::span(free).subspan(at(n_first)), at(b - n_first), by_second);
    head.gone.assign(free.begin() + b, free.end());
    std::ranges::sort(head.gone);
  }
  keep_the_rest(head);
}

}  // namespace kvscope
