// SPDX-License-Identifier: Apache-2.0
#include "policy/rankings/leverage_ranking.h"

#include <fmt/format.h>

#include <cmath>

#include "core/least_squares.h"
#include "core/not_available.h"
#include "policy/decision.h"
#include "policy/rankings/rows.h"
#include "policy/rules.h"

namespace kvscope {
namespace {

std::vector<double> factor_of(const std::vector<double>& gram, std::size_t width) {
  constexpr int kTries = 5;
  double jitter = 1e-2;
  for (int i = 0; i < kTries; ++i, jitter *= 10) {
    std::vector<double> a = gram;
    for (std::size_t c = 0; c < width; ++c) a[c * width + c] += jitter;
    if (factorise(a, width)) return a;
  }
  return {};
}

}  // namespace

std::vector<double> leverage_scores(std::vector<double> rows, std::size_t width) {
  const std::size_t n = width > 0 ? rows.size() / width : 0;
  std::vector<double> mean(width, 0.0), gram(width * width, 0.0), score(n, kNotAvailable), y(width);
  for (std::size_t i = 0; i < rows.size(); ++i) mean[i % width] += rows[i] / static_cast<double>(n);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] -= mean[i % width];
  for (std::size_t r = 0; r < n; ++r)
    for (std::size_t i = 0; i < width; ++i) {
      const double x = rows[r * width + i];
      for (std::size_t j = 0; j <= i; ++j) gram[i * width + j] += x * rows[r * width + j];
    }
  const std::vector<double> factor = factor_of(gram, width);
  if (factor.empty()) return score;      // keys that are not finite
  for (std::size_t r = 0; r < n; ++r) {  // |L^-1 x|^2
    double sum = 0;
    for (std::size_t i = 0; i < width; ++i) {
      double v = rows[r * width + i];
      for (std::size_t k = 0; k < i; ++k) v -= factor[i * width + k] * y[k];
      y[i] = v / factor[i * width + i];
      sum += y[i] * y[i];
    }
    score[r] = sum;
  }
  return score;
}

std::vector<double> LeverageRanking::leverage(const HeadView& head, std::size_t first, std::size_t end) const {
  const std::vector<double> keys = head.keys->unrotated_keys();
  const std::size_t n = head.slots->pos.size(), width = n > 0 ? keys.size() / n : 0, columns = static_cast<std::size_t>(sketch_);
  std::vector<double> rows(keys.begin() + static_cast<std::ptrdiff_t>(first * width),
                           keys.begin() + static_cast<std::ptrdiff_t>(end * width));
  if (columns == 0) return leverage_scores(std::move(rows), width);
  std::vector<double> sketch(width * columns), sketched((end - first) * columns, 0.0);
  for (std::size_t i = 0; i < sketch.size(); ++i) sketch[i] = normal_draw(seed_, head.layer, head.kv_head, i, static_cast<double>(columns));
  for (std::size_t r = 0; r < end - first; ++r)
    for (std::size_t i = 0; i < width; ++i)
      for (std::size_t j = 0; j < columns; ++j) sketched[r * columns + j] += rows[r * width + i] * sketch[i * columns + j];
  return leverage_scores(std::move(sketched), columns);
}

std::vector<double> LeverageRanking::score(const HeadView& head) const {
  std::vector<double> out = leverage(head, 0, head.slots->pos.size());
  head.note("leverage", out);
  return out;
}

void LeverageRanking::finish_layer(std::span<HeadDecision* const> heads) const {
  std::vector<std::span<double>> scores;
  for (HeadDecision* head : heads) scores.emplace_back(head->score);
  normalise_layer(scores);
}

std::string LeverageRanking::equation() const {
  return "leverage, standardised over the layer: x (XᵀX)⁻¹ xᵀ of the keys before rotation, less their mean";
}

}  // namespace kvscope
