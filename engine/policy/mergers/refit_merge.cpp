// SPDX-License-Identifier: Apache-2.0
#include "policy/mergers/refit_merge.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/least_squares.h"
#include "core/place.h"
#include "core/vector_math.h"

namespace kvscope {
namespace {

/// a'b for a [rows, m] and b [rows, n], in pieces of all three that stay near. symmetric: b is a, and each product is made once.
std::vector<double> product(std::span<const double> a, std::size_t m, std::span<const double> b, std::size_t n, bool symmetric = false) {
  constexpr std::size_t kPiece = 64;
  const std::size_t rows = a.size() / m;
  std::vector<double> out(m * n, 0.0), transposed(kPiece * kPiece), columns(kPiece * kPiece), part(kPiece * kPiece);
  for (std::size_t i0 = 0; i0 < m; i0 += kPiece)
    for (std::size_t first = 0; first < rows; first += kPiece) {
      const std::size_t wide = std::min(kPiece, m - i0), count = std::min(kPiece, rows - first);
      for (std::size_t r = 0; r < count; ++r)
        for (std::size_t i = 0; i < wide; ++i) transposed[i * count + r] = a[(first + r) * m + i0 + i];
      for (std::size_t j0 = 0; j0 < (symmetric ? i0 + wide : n); j0 += kPiece) {
        const std::size_t across = std::min(kPiece, n - j0);
        for (std::size_t r = 0; r < count; ++r) std::copy_n(&b[(first + r) * n + j0], across, &columns[r * across]);
        const auto sums = std::span(part).first(wide * across);
        matrix_products(std::span(transposed).first(wide * count), std::span(columns).first(count * across), across, sums);
        for (std::size_t i = 0; i < wide; ++i)
          for (std::size_t j = 0; j < across; ++j) out[(i0 + i) * n + j0 + j] += sums[i * across + j];
      }
    }
  for (std::size_t i = 0; symmetric && i < m; ++i)
    for (std::size_t j = i + 1; j < n; ++j) out[i * n + j] = out[j * n + i];
  return out;
}

/// `ridge` times the mean of the diagonal, added to it.
double add_ridge(std::span<double> gram, std::size_t width, double ridge) {
  double mean = 0;
  for (std::size_t i = 0; i < width; ++i) mean += gram[i * width + i] / static_cast<double>(width);
  for (std::size_t i = 0; i < width; ++i) gram[i * width + i] += ridge * mean;
  return ridge * mean;
}

/// exp(logit) of the kept slots [rows, kept], of the rows in which it is not all 0; those rows' masses and outputs over all slots.
struct Problem {
  std::vector<double> kept, mass, output;
};
Problem problem_of(const ReferenceQueries::Rows& rows, std::span<const int> kept, std::span<const double> values) {
  Problem p;
  std::vector<double> shares;
  for (std::size_t r = 0; r < rows.mass.size(); ++r) {
    const auto e = std::span(rows.exp_logit).subspan(r * rows.n, rows.n);
    double seen = 0;
    for (const int i : kept) seen += e[at(i)];
    if (seen == 0) continue;
    for (const int i : kept) p.kept.push_back(e[at(i)]);
    for (const double x : e) shares.push_back(x / rows.mass[r]);
    p.mass.push_back(rows.mass[r]);
  }
  p.output.resize(p.mass.size() * (values.size() / rows.n));
  matrix_products(shares, values, values.size() / rows.n, p.output);
  return p;
}

std::vector<double> fit_weights(const Problem& p, std::size_t n, double ridge, double limit) {
  std::vector<double> gram = product(p.kept, n, p.kept, n, /*symmetric=*/true), b = product(p.kept, n, p.mass, 1);
  const double lambda = add_ridge(gram, n, ridge);
  for (double& x : b) x += lambda;
  return bounded_least_squares(gram, b, std::exp(-limit), std::exp(limit));
}

/// Of every row the attention among the kept slots, by their weights.
std::vector<double> shares_of(const Problem& p, std::span<const double> weight) {
  std::vector<double> x = p.kept;
  const std::size_t n = weight.size();
  for (std::size_t r = 0; r < p.mass.size(); ++r) {
    double sum = 0;
    for (std::size_t i = 0; i < n; ++i) sum += x[r * n + i] *= weight[i];
    for (std::size_t i = 0; i < n; ++i) x[r * n + i] /= sum;
  }
  return x;
}

/// What the outputs lack of those over all slots.
std::vector<double> missing_of(const Problem& p, std::span<const double> shares, std::span<const double> values, std::size_t width) {
  std::vector<double> missing(p.output.size());
  matrix_products(shares, values, width, missing);
  for (std::size_t i = 0; i < missing.size(); ++i) missing[i] = p.output[i] - missing[i];
  return missing;
}

double length(std::span<const double> x) { return std::sqrt(std::inner_product(x.begin(), x.end(), x.begin(), 0.0)); }

}  // namespace

Refitted refit(const ReferenceQueries::Rows& rows, std::span<const int> kept, std::span<const double> values, double ridge, double limit) {
  const Problem p = problem_of(rows, kept, values);
  const std::size_t n = kept.size(), width = values.size() / rows.n;
  Refitted out;
  out.weight = fit_weights(p, n, ridge, limit);
  if (out.weight.empty()) return {};
  for (const int i : kept) out.values.insert(out.values.end(), &values[at(i) * width], &values[at(i) * width] + width);
  out.error_before = length(missing_of(p, shares_of(p, std::vector<double>(n, 1.0)), out.values, width)) / length(p.output);

  const std::vector<double> x = shares_of(p, out.weight);
  std::vector<double> gram = product(x, n, x, n, /*symmetric=*/true), change = product(x, n, missing_of(p, x, out.values, width), width);
  add_ridge(gram, n, ridge);
  if (!factorise(gram, n)) return {};
  solve_factorised(gram, n, change, width);
  for (std::size_t i = 0; i < change.size(); ++i) out.values[i] += change[i];
  out.error_after = length(missing_of(p, x, out.values, width)) / length(p.output);
  return out;
}

void RefitMerger::merge(HeadDecision& head) {
  for (const int e : head.gone) head.plan.removals.push_back(removal_of(head, e));
  const std::vector<double> values = head.view.keys->values();
  const Refitted fitted = refit(o_.queries.over(head.view), head.keep, values, o_.ridge, o_.limit);
  const std::size_t width = values.size() / head.slots().pos.size();
  for (std::size_t x = 0; x < fitted.weight.size(); ++x) {
    Merge& merge = head.plan.merges.emplace_back();
    merge.target = head.keep[x];
    merge.members = {merge.target};
    merge.value.assign(&fitted.values[x * width], &fitted.values[x * width] + width);
    merge.extra = std::log(fitted.weight[x]);
    const auto was = std::span(values).subspan(at(merge.target) * width, width);
    std::vector<double> change = merge.value;
    for (std::size_t i = 0; i < width; ++i) change[i] -= was[i];
    if (const double size = length(was); size > 0) merge.value_change = length(change) / size;
    merge.error_before = fitted.error_before;
    merge.error_after = fitted.error_after;
  }
}

}  // namespace kvscope
