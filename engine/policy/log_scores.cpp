// SPDX-License-Identifier: Apache-2.0
// How the score of the next query is predicted (POLICIES.md section 5).
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/vector_math.h"
#include "policy/statistics.h"

namespace kvscope {
namespace {

constexpr double kMinusInf = -std::numeric_limits<double>::infinity();

std::size_t at(int i) { return static_cast<std::size_t>(i); }

}  // namespace

double EmaStart::at(int n) const { return std::log(1.0 - std::pow(alpha_, n)); }

double EmaStart::operator()(int n) {
  if (n >= 4096) return at(n);
  while (static_cast<int>(known_.size()) <= n) known_.push_back(at(static_cast<int>(known_.size())));
  return known_[kvscope::at(n)];
}

std::vector<double> log_scores(const SlotState& state, Predict predict, int group, EmaStart& start) {
  if (predict == Predict::current) return state.z_now;
  if (predict == Predict::ema) {
    std::vector<double> lshat(state.ema);
    for (int i = 0; i < state.size(); ++i) {
      if (state.ema_n[at(i)] == 0) continue;  // came back by hand and was not scored yet: -inf
      const double correction = start(state.ema_n[at(i)]);
      for (int g = 0; g < group; ++g) lshat[at(i * group + g)] -= correction;
    }
    return lshat;
  }
  const std::size_t size = at(state.size()) * at(group);
  std::vector<double> top(size, kMinusInf), total(size, 0.0);
  std::vector<int> seen(size, 0);
  for (int r = 0; r < state.z_rows.rows(); ++r)
    for (std::size_t x = 0; x < size; ++x) top[x] = std::max(top[x], state.z_rows.row(r)[x]);
  std::vector<double> share(size);
  for (int r = 0; r < state.z_rows.rows(); ++r) {
    const std::span<const double> row = state.z_rows.row(r);
    for (std::size_t x = 0; x < size; ++x) share[x] = row[x] - top[x];
    exp_all(share);
    for (std::size_t x = 0; x < size; ++x) {
      const bool scored = row[x] != kMinusInf;
      total[x] += scored ? share[x] : 0.0;
      seen[x] += scored;
    }
  }
  for (std::size_t x = 0; x < size; ++x) total[x] /= seen[x];
  log_all(total);
  for (std::size_t x = 0; x < size; ++x)
    if (seen[x] > 0) top[x] += total[x];  // what came back by hand and was not scored yet stays -inf
  return top;
}

std::vector<double> log_scores(const SlotState& state, Predict predict, int group, double alpha) {
  EmaStart start(alpha);
  return log_scores(state, predict, group, start);
}

std::vector<double> log_normalisers(const SlotState& state, std::span<const double> lshat, int group) {
  std::vector<double> log_z(at(group), kMinusInf), total(at(group), 0.0);
  for (int i = 0; i < state.size(); ++i)
    for (int g = 0; g < group; ++g) log_z[at(g)] = std::max(log_z[at(g)], lshat[at(i * group + g)]);
  thread_local std::vector<double> share;  // kept by its thread: in a step an allocation would cost as much as the work
  share.resize(lshat.size());
  for (int i = 0; i < state.size(); ++i)
    for (int g = 0; g < group; ++g) share[at(i * group + g)] = lshat[at(i * group + g)] - log_z[at(g)];
  exp_all(share);
  for (int i = 0; i < state.size(); ++i)
    for (int g = 0; g < group; ++g) total[at(g)] += state.votes[at(i)] * share[at(i * group + g)];
  for (int g = 0; g < group; ++g) log_z[at(g)] += std::log(total[at(g)]);
  return log_z;
}

}  // namespace kvscope
