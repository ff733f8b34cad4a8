// SPDX-License-Identifier: Apache-2.0
// How the score of the next query is predicted (POLICIES.md section 5).
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "core/vector_math.h"
#include "policy/statistics/statistics.h"

namespace kvscope {
namespace {

constexpr double kMinusInf = -std::numeric_limits<double>::infinity();

std::size_t at(int i) { return static_cast<std::size_t>(i); }

}  // namespace

double EmaStart::at(int n) const { return std::log(1.0 - std::pow(alpha_, n)); }

double EmaStart::operator()(int n) const {
  constexpr int kMost = 4096;         // of one alpha
  constexpr std::size_t kAlphas = 16;  // more than a run has, as a rule
  if (n >= kMost) return at(n);
  thread_local std::map<double, std::vector<double>> known;
  thread_local std::pair<const double, std::vector<double>>* newest = nullptr;
  if (!newest || newest->first != alpha_) {
    if (known.size() > kAlphas) known.clear();
    newest = &*known.try_emplace(alpha_).first;
  }
  std::vector<double>& values = newest->second;
  while (static_cast<int>(values.size()) <= n) values.push_back(at(static_cast<int>(values.size())));
  return values[kvscope::at(n)];
}

void log_scores(const SlotState& state, Predict predict, int group, const EmaStart& start, std::vector<double>& lshat) {
  if (predict == Predict::current) {
    lshat.assign(state.z_now.begin(), state.z_now.end());
  } else if (predict == Predict::window) {
    state.z_rows.log_means(lshat);
  } else {
    lshat.assign(state.ema.begin(), state.ema.end());
    for (int i = 0; i < state.size(); ++i) {
      if (state.ema_n[at(i)] == 0) continue;  // came back by hand and was not scored yet: -inf
      const double correction = start(state.ema_n[at(i)]);
      for (int g = 0; g < group; ++g) lshat[at(i * group + g)] -= correction;
    }
  }
}

std::vector<double> log_scores(const SlotState& state, Predict predict, int group, double alpha) {
  EmaStart start(alpha);
  std::vector<double> lshat;
  log_scores(state, predict, group, start, lshat);
  return lshat;
}

std::vector<double> log_normalisers(const SlotState& state, std::span<const double> lshat, int group) {
  std::vector<double> log_z(at(group), kMinusInf);
  thread_local std::vector<double> share;  // kept by its thread: in a step an allocation would cost as much as the work
  share.resize(lshat.size());
  for (int g = 0; g < group; ++g) {
    double top = kMinusInf;
    for (std::size_t x = at(g); x < lshat.size(); x += at(group)) top = std::max(top, lshat[x]);
    for (std::size_t x = at(g); x < lshat.size(); x += at(group)) share[x] = lshat[x] - top;
    log_z[at(g)] = top;
  }
  exp_all(share);
  for (int g = 0; g < group; ++g) {
    double total = 0;
    for (int i = 0; i < state.size(); ++i) total += state.votes[at(i)] * share[at(i * group + g)];
    log_z[at(g)] += std::log(total);
  }
  return log_z;
}

}  // namespace kvscope
