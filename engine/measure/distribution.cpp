// SPDX-License-Identifier: Apache-2.0
#include "measure/distribution.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "core/vector_math.h"

namespace kvscope {

void log_softmax(std::span<double> logits) {
  const double largest = *std::max_element(logits.begin(), logits.end());
  std::vector<double> p(logits.begin(), logits.end());
  for (double& x : p) x -= largest;
  exp_all(p);
  const double sum = std::accumulate(p.begin(), p.end(), 0.0);
  const double log_z = largest + std::log(sum);
  for (double& x : logits) x -= log_z;
}

int argmax(std::span<const double> x) { return static_cast<int>(std::max_element(x.begin(), x.end()) - x.begin()); }

std::vector<double> probabilities(std::span<const double> log_p) {
  std::vector<double> p(log_p.begin(), log_p.end());
  exp_all(p);
  return p;
}

double kl_divergence(std::span<const double> p, std::span<const double> log_p, std::span<const double> log_q) {
  double sum = 0;
  for (std::size_t i = 0; i < log_p.size(); ++i) sum += p[i] * (log_p[i] - log_q[i]);
  return sum;
}

std::vector<std::pair<int, double>> top(std::span<const double> x, int n) {
  std::vector<std::pair<int, double>> out;  // so far, best first; of equal ones the lower place first
  const auto wanted = static_cast<std::size_t>(std::max(0, std::min(n, static_cast<int>(x.size()))));
  out.reserve(wanted + 1);
  for (std::size_t i = 0; i < x.size() && wanted > 0; ++i) {
    if (out.size() == wanted && !(x[i] > out.back().second)) continue;  // nearly all
    const auto place = std::ranges::upper_bound(out, x[i], std::greater<>(), &std::pair<int, double>::second);
    out.insert(place, {static_cast<int>(i), x[i]});
    if (out.size() > wanted) out.pop_back();
  }
  return out;
}

namespace {

int rank_of(std::span<const double> x, int id) {
  const double own = x[id];
  const auto above = std::count_if(x.begin(), x.end(), [own](double y) { return y > own; });
  const auto equal_before = std::count(x.begin(), x.begin() + id, own);
  return static_cast<int>(1 + above + equal_before);
}

}  // namespace

std::vector<TopToken> top_tokens(std::span<const double> log_p, std::span<const double> logits, std::span<const double> log_p_reference,
                                 std::span<const double> logits_reference, int n) {
  std::vector<int> ids;
  for (const auto& list : {top(logits_reference, n), top(logits, n)}) {
    for (const auto& [id, logit] : list) {
      if (std::find(ids.begin(), ids.end(), id) == ids.end()) ids.push_back(id);
    }
  }
  const auto weight = [&](int id) { return std::max(log_p[id], log_p_reference[id]); };
  std::stable_sort(ids.begin(), ids.end(), [&](int a, int b) { return weight(a) > weight(b); });
  ids.resize(std::min<std::size_t>(ids.size(), static_cast<std::size_t>(n)));
  std::vector<TopToken> out;
  for (const int id : ids) {
    out.push_back({.id = id,
                   .p = std::exp(log_p[id]),
                   .p_reference = std::exp(log_p_reference[id]),
                   .logit = logits[id],
                   .logit_reference = logits_reference[id],
                   .rank = rank_of(logits, id),
                   .rank_reference = rank_of(logits_reference, id)});
  }
  std::stable_sort(out.begin(), out.end(), [](const TopToken& a, const TopToken& b) { return a.rank_reference < b.rank_reference; });
  return out;
}

}  // namespace kvscope
