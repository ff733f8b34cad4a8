// SPDX-License-Identifier: Apache-2.0
#include "policy/selections/hindsight_selection.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/error.h"
#include "core/not_available.h"
#include "core/place.h"

namespace kvscope {
namespace {

// sums that differ by no more than this part of themselves and of all outputs count as equal: it is rounding
constexpr double kSame = 1e-12;
// a smaller share of the softmax beside a slot is not taken as a difference, which rounds, but summed anew
constexpr double kFewLeft = 1e-3;

/// The outputs of all queries over the slots that are left, and what they become when one more goes. Everything is projected by W_O, where
/// the distance is taken; a pair is one query with one query head.
class Outputs {
 public:
  Outputs(const Hindsight::View& view, int n_slots) : view_(view), n_(n_slots), d_(at(view.dim)) {
    const int n_pairs = view.n_queries * view.group;
    for (int x = 0; x < n_pairs; ++x) add_pair(x);
  }

  /// The sum of distances after slot e went as well. Gives up and returns infinity as soon as it must exceed `limit`; bounds: see below.
  double after(int e, double bound, double limit) {
    double sum = bound;
    for (Pair& p : pairs_) {
      sum += distance_after(p, e) - bound_of(p, e);
      if (sum > limit) return std::numeric_limits<double>::infinity();
    }
    // again without the bounds, so that the figure does not depend on what was tried before
    sum = 0;
    for (const Pair& p : pairs_) sum += p.tried;
    return sum;
  }

  /// A lower bound of the sum of distances after slot e went. For one pair with residual R = o - o_full, removal moves the output by x = t
  /// (o - v_e), t = a_e / (1 - a_e), and ||R + x||_1 >= ||R||_1 + sign(R) . x (the norm is convex) and >= ||x||_1 - ||R||_1.
  double bound(int e) const {
    double sum = 0;
    for (const Pair& p : pairs_) sum += bound_of(p, e);
    return sum;
  }

  void remove(int e) {
    for (Pair& p : pairs_) remove(p, e);
  }

  /// Sum of ||o_full||_1 over the pairs: what the sums of distances are rounded against.
  double scale() const { return scale_; }

 private:
  struct Pair {
    const double* values = nullptr;    // [n, dim] of the query head
    const double* full = nullptr;      // [dim]
    std::vector<double> weight;        // [n] of the slots left: shares of the softmax over all slots
    double mass = 0;                   // their sum
    std::vector<double> out;           // [dim] o
    std::vector<double> sign;          // [dim] of R
    std::vector<double> sign_values;   // [n] sign . v_i
    std::vector<double> reach;         // [n] ||o - v_i||_1 when it was last computed; -1: never
    std::vector<double> reach_travel;  // [n] travel at that time
    double travel = 0;                 // how far o has moved in all, L1
    double residual = 0;               // ||R||_1
    double sign_out = 0;               // sign . o
    double tried = 0;                  // result of the newest distance_after
  };

  const double* value(const Pair& p, int i) const { return p.values + at(i) * d_; }

  void add_pair(int x) {
    Pair p;
    p.values = view_.values.data() + at(x % view_.group) * at(n_) * d_;
    p.full = view_.outputs.data() + at(x) * d_;
    const double* z = view_.logits.data() + at(x) * at(n_);
    const double top = *std::max_element(z, z + n_);
    if (!std::isfinite(top)) return;  // sees none of these slots
    p.weight.resize(at(n_));
    for (int i = 0; i < n_; ++i) p.weight[at(i)] = std::exp(z[i] - top);
    p.reach.assign(at(n_), -1.0);
    p.reach_travel.assign(at(n_), 0.0);
    p.sign.assign(d_, 0.0);
    p.sign_values.assign(at(n_), 0.0);
    p.out.resize(d_);
    compute_out(p);
    follow_signs(p);
    for (std::size_t j = 0; j < d_; ++j) scale_ += std::abs(p.full[j]);
    pairs_.push_back(std::move(p));
  }

  /// o from what is left, without the errors of many small changes.
  void compute_out(Pair& p) const {
    p.mass = std::accumulate(p.weight.begin(), p.weight.end(), 0.0);
    std::ranges::fill(p.out, 0.0);
    if (p.mass <= 0) return;
    for (int i = 0; i < n_; ++i) {
      const double a = p.weight[at(i)] / p.mass;
      if (a == 0) continue;
      const double* v = value(p, i);
      for (std::size_t j = 0; j < d_; ++j) p.out[j] += a * v[j];
    }
  }

  /// t = a_e / (1 - a_e); infinite where next to nothing else is left to see.
  static double leverage(const Pair& p, int e) {
    const double rest = p.mass - p.weight[at(e)];
    return p.weight[at(e)] == 0 ? 0.0 : rest > p.mass * kFewLeft ? p.weight[at(e)] / rest : std::numeric_limits<double>::infinity();
  }

  double distance_after(Pair& p, int e) const {
    const double t = leverage(p, e);
    const double* v = value(p, e);
    double distance = 0, reach = 0;
    if (t == 0) {
      distance = p.residual;
    } else if (std::isinf(t)) {
      Pair rest{.values = p.values, .weight = p.weight, .out = p.out};
      rest.weight[at(e)] = 0;
      compute_out(rest);
      for (std::size_t j = 0; j < d_; ++j) distance += std::abs(rest.out[j] - p.full[j]);
    } else {
      for (std::size_t j = 0; j < d_; ++j) {
        const double away = p.out[j] - v[j];
        reach += std::abs(away);
        distance += std::abs(p.out[j] - p.full[j] + t * away);
      }
      p.reach[at(e)] = reach;
      p.reach_travel[at(e)] = p.travel;
    }
    p.tried = distance;
    return distance;
  }

  static double bound_of(const Pair& p, int e) {
    const double t = leverage(p, e);
    if (t == 0) return p.residual;
    if (std::isinf(t)) return 0;
    double bound = std::max(0.0, p.residual + t * (p.sign_out - p.sign_values[at(e)]));
    if (p.reach[at(e)] >= 0) bound = std::max(bound, t * (p.reach[at(e)] - (p.travel - p.reach_travel[at(e)])) - p.residual);
    return bound;
  }

  void remove(Pair& p, int e) const {
    const double t = leverage(p, e);
    p.weight[at(e)] = 0;
    if (t == 0) return;
    const std::vector<double> before = p.out;
    if (t < 4) {
      const double* v = value(p, e);
      for (std::size_t j = 0; j < d_; ++j) p.out[j] += t * (p.out[j] - v[j]);
      p.mass = std::accumulate(p.weight.begin(), p.weight.end(), 0.0);
    } else {
      compute_out(p);
    }
    for (std::size_t j = 0; j < d_; ++j) p.travel += std::abs(p.out[j] - before[j]);
    follow_signs(p);
  }

  /// sign, sign . v_i and sign . o after o has moved: only components that changed their sign cost anything.
  void follow_signs(Pair& p) const {
    p.residual = p.sign_out = 0;
    std::vector<std::pair<std::size_t, double>> changed;
    for (std::size_t j = 0; j < d_; ++j) {
      const double r = p.out[j] - p.full[j], sign = r > 0 ? 1 : r < 0 ? -1 : 0;
      p.residual += std::abs(r);
      p.sign_out += sign * p.out[j];
      if (sign != p.sign[j]) changed.emplace_back(j, sign - p.sign[j]);
      p.sign[j] = sign;
    }
    if (changed.empty()) return;
    for (int i = 0; i < n_; ++i) {
      if (p.weight[at(i)] == 0) continue;
      const double* v = value(p, i);
      double sum = 0;
      for (const auto& [j, by] : changed) sum += by * v[j];
      p.sign_values[at(i)] += sum;
    }
  }

  const Hindsight::View& view_;
  int n_;
  std::size_t d_;
  std::vector<Pair> pairs_;
  double scale_ = 0;
};

}  // namespace

void HindsightSelection::select(HeadDecision& head, int) const {
  const int n = head.slots().size();
  std::vector<int> free = unprotected(head);
  const int n_gone = std::min(static_cast<int>(free.size()), std::max(0, n - head.budget.value_or(n)));
  head.gone.clear();
  if (n_gone > 0) {
    KVSCOPE_ASSERT(head.view.hindsight);
    const Hindsight::View view = head.view.hindsight->look();
    Outputs outputs(view, n);
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    head.score.assign(at(n), kNotAvailable);
    for (const int e : free) {
      head.view.hindsight->check();
      head.score[at(e)] = -outputs.after(e, outputs.bound(e), kInfinity);
    }
    head.plan.score = head.score;
    std::vector<double> bounds(at(n));
    for (int e = 0; e < n_gone; ++e) {
      head.view.hindsight->check();
      for (const int i : free) bounds[at(i)] = outputs.bound(i);
      // the most promising first: then few of the others have to be computed
      std::ranges::sort(free, [&](int a, int b) { return bounds[at(a)] != bounds[at(b)] ? bounds[at(a)] < bounds[at(b)] : a > b; });
      std::vector<double> sums;
      double best = kInfinity;
      for (const int i : free) {
        const double limit = best + 1e-9 * (outputs.scale() + best);  // bounds are computed in another order than sums
        if (bounds[at(i)] > limit) break;
        sums.push_back(outputs.after(i, bounds[at(i)], limit));
        best = std::min(best, sums.back());
      }
      const double same = best + kSame * (outputs.scale() + best);
      std::size_t place = 0;
      for (std::size_t i = 0; i < sums.size(); ++i)
        if (sums[i] <= same && (sums[place] > same || free[i] > free[place])) place = i;
      const int slot = free[place];
      head.score[at(slot)] = -sums[place];
      head.gone.push_back(slot);
      outputs.remove(slot);
      free.erase(free.begin() + static_cast<std::ptrdiff_t>(place));
    }
  }
  keep_the_rest(head);
}

}  // namespace kvscope
