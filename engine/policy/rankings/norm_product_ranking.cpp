// SPDX-License-Identifier: Apache-2.0
#include "policy/rankings/norm_product_ranking.h"

#include <fmt/format.h>

namespace kvscope {
namespace {

/// Squares as shares of the sum over their window; 0 where that is 0.
std::vector<double> window_shares(std::span<const double> norms, std::size_t window) {
  std::vector<double> shares(norms.size());
  for (std::size_t first = 0; first < norms.size(); first += window) {
    const std::size_t end = std::min(first + window, norms.size());
    double sum = 0;
    for (std::size_t i = first; i < end; ++i) sum += shares[i] = norms[i] * norms[i];
    for (std::size_t i = first; i < end; ++i) shares[i] = sum > 0 ? shares[i] / sum : 0.0;
  }
  return shares;
}

}  // namespace

std::vector<double> norm_products(std::span<const double> key_norms, std::span<const double> value_norms, int window, double* of_all) {
  std::vector<double> score = window_shares(key_norms, static_cast<std::size_t>(window));
  const std::vector<double> values = window_shares(value_norms, static_cast<std::size_t>(window));
  double sum = 0;
  for (std::size_t i = 0; i < score.size(); ++i) sum += score[i] *= values[i];
  for (double& x : score) x = sum > 0 ? x / sum : 0.0;
  if (of_all) *of_all = sum;
  return score;
}

std::vector<double> NormProductRanking::score(const HeadView& head) const {
  const std::vector<double> values = head.keys->value_l2();
  if (head.terms) {
    head.note("‖k‖² share", window_shares(head.slots->key_norm, static_cast<std::size_t>(window_)));
    head.note("‖v‖² share", window_shares(values, static_cast<std::size_t>(window_)));
  }
  double sum = 0;
  std::vector<double> score = norm_products(head.slots->key_norm, values, window_, &sum);
  if (head.terms) head.note("sum of all", std::vector(score.size(), sum));
  return score;
}

std::string NormProductRanking::equation() const {
  return fmt::format("‖k‖² ‖v‖², each as its share of {} neighbouring slots, over the sum of all", window_);
}

}  // namespace kvscope
