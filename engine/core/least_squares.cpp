// SPDX-License-Identifier: Apache-2.0
#include "core/least_squares.h"

#include <algorithm>
#include <cmath>

#include "core/vector_math.h"

namespace kvscope {
namespace {

constexpr double kTolerance = 1e-12;
constexpr int kMostRounds = 200;
constexpr int kSweeps = 4;  // of a round: each costs little beside the factors that it spares the search for the numbers at their bounds

/// One problem and where its solution stands.
class BoundedProblem {
 public:
  BoundedProblem(std::span<const double> gram, std::span<const double> b, double least, double most)
      : gram_(gram), b_(b), least_(least), most_(most), x_(b.size(), std::clamp(1.0, least, most)) {}

  /// What a number may still gain.
  double violation() const {
    double worst = 0;
    const std::vector<double> gradients = this->gradients();
    for (std::size_t i = 0; i < x_.size(); ++i) {
      const double g = gradients[i];
      const bool held = (x_[i] <= least_ && g > 0) || (x_[i] >= most_ && g < 0);
      if (!held) worst = std::max(worst, std::abs(g));
    }
    return worst;
  }

  void sweep() {
    for (std::size_t i = 0; i < x_.size(); ++i) x_[i] = std::clamp(x_[i] - gradient(i) / gram_[i * x_.size() + i], least_, most_);
  }

  /// The numbers between the bounds go to where all of them are best while the others hold still. Those that meet a bound on the way stay
  /// there, and the rest goes on.
  void solve_free() {
    std::vector<std::size_t> free;
    for (std::size_t i = 0; i < x_.size(); ++i) free.push_back(i);
    const auto at_bound = [&](std::size_t i) { return x_[i] <= least_ || x_[i] >= most_; };
    while (std::erase_if(free, at_bound), !free.empty()) {
      const std::vector<double> step = newton_step(free);
      if (step.empty()) return;
      std::size_t first = free.size();  // to meet a bound
      double share = 1;
      for (std::size_t r = 0; r < free.size(); ++r) {
        const double room = std::abs((step[r] < 0 ? least_ : most_) - x_[free[r]]) / std::abs(step[r]);  // a step of 0 meets none
        if (room < share) share = room, first = r;
      }
      if (first == free.size()) {
        move(free, step, 1);
        return;
      }
      const std::vector<double> before = x_;
      const double value = objective();
      for (double part = 1;; part /= 2) {  // several may meet theirs at once, as long as the value falls
        const bool only_first = part <= share;
        move(free, step, only_first ? share : part);
        if (only_first) x_[free[first]] = step[first] < 0 ? least_ : most_;
        if (only_first || objective() < value) break;
        x_ = before;
      }
    }
  }

  std::vector<double>& x() { return x_; }

 private:
  /// From x to the best of `free`; empty: rounding has left no factor.
  std::vector<double> newton_step(std::span<const std::size_t> free) const {
    const std::size_t m = free.size();
    std::vector<double> factor(m * m), step(m);
    const std::vector<double> gradients = this->gradients();
    for (std::size_t r = 0; r < m; ++r) {
      for (std::size_t c = 0; c <= r; ++c) factor[r * m + c] = gram_[free[r] * x_.size() + free[c]];
      step[r] = -gradients[free[r]];
    }
    if (!factorise(factor, m)) return {};
    solve_factorised(factor, m, step, 1);
    return step;
  }
  void move(std::span<const std::size_t> free, std::span<const double> step, double share) {
    for (std::size_t r = 0; r < free.size(); ++r) x_[free[r]] = std::clamp(x_[free[r]] + share * step[r], least_, most_);
  }
  double gradient(std::size_t i) const {
    double product = 0;
    row_products(&gram_[i * x_.size()], x_, {&product, 1});
    return product - b_[i];
  }
  std::vector<double> gradients() const {
    std::vector<double> out(x_.size());
    row_products(gram_.data(), x_, out);
    for (std::size_t i = 0; i < out.size(); ++i) out[i] -= b_[i];
    return out;
  }
  double objective() const {
    double sum = 0;
    const std::vector<double> gradients = this->gradients();
    for (std::size_t i = 0; i < x_.size(); ++i) sum += x_[i] * (gradients[i] - b_[i]) / 2;
    return sum;
  }

  std::span<const double> gram_, b_;
  double least_, most_;
  std::vector<double> x_;
};

}  // namespace

bool factorise(std::span<double> a, std::size_t width) {
  constexpr std::size_t kRows = 16;  // that meet a row above while it is near
  double products[kRows];
  for (std::size_t first = 0; first < width; first += kRows)
    for (std::size_t j = 0; j < std::min(first + kRows, width); ++j) {  // a row's number j wants only those before it, and row j's
      const std::size_t begin = std::max(first, j), end = std::min(first + kRows, width), whole = j - j % 8;
      row_products(&a[begin * width], a.subspan(j * width, whole), std::span(products, end - begin), width);
      for (std::size_t i = begin; i < end; ++i) {
        double sum = a[i * width + j] - products[i - begin];
        for (std::size_t k = whole; k < j; ++k) sum -= a[i * width + k] * a[j * width + k];
        if (i != j)
          a[i * width + j] = sum / a[j * width + j];
        else if (sum > 0 && std::isfinite(sum))
          a[i * width + i] = std::sqrt(sum);
        else
          return false;
      }
    }
  return true;
}

void solve_factorised(std::span<const double> factor, std::size_t width, std::span<double> b, std::size_t columns) {
  const auto row = [&](std::size_t i) { return b.subspan(i * columns, columns); };
  const auto subtract = [&](std::size_t from, double weight, std::size_t what) {
    for (std::size_t c = 0; c < columns; ++c) row(from)[c] -= weight * row(what)[c];
  };
  for (std::size_t i = 0; i < width; ++i) {
    for (std::size_t k = 0; k < i; ++k) subtract(i, factor[i * width + k], k);
    for (double& x : row(i)) x /= factor[i * width + i];
  }
  for (std::size_t i = width; i-- > 0;) {
    for (double& x : row(i)) x /= factor[i * width + i];
    for (std::size_t k = 0; k < i; ++k) subtract(k, factor[i * width + k], i);
  }
}

std::vector<double> bounded_least_squares(std::span<const double> gram, std::span<const double> b, double least, double most) {
  std::vector<double> factor(gram.begin(), gram.end());
  const auto is_finite = [](double x) { return std::isfinite(x); };
  if (!factorise(factor, b.size()) || !std::ranges::all_of(b, is_finite)) return {};
  double scale = 0;
  for (const double x : b) scale = std::max(scale, std::abs(x));
  BoundedProblem problem(gram, b, least, most);
  for (int round = 0; round < kMostRounds && problem.violation() > kTolerance * scale; ++round) {
    for (int sweep = 0; sweep < kSweeps; ++sweep) problem.sweep();
    problem.solve_free();
  }
  return std::move(problem.x());
}

}  // namespace kvscope
