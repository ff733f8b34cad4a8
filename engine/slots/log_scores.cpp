// SPDX-License-Identifier: Apache-2.0
// How the score of the next query is predicted (POLICIES.md section 5).
#include <algorithm>

#include "core/place.h"
#include "core/vector_math.h"
#include "slots/log_scores.h"
#include "slots/mass_merge.h"

namespace kvscope {

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
    double total[kMassSums] = {};
    for (int i = 0; i < state.size(); ++i) total[i % kMassSums] += state.votes[at(i)] * share[at(i * group + g)];
    for (int half = kMassSums / 2; half > 0; half /= 2)
      for (int t = 0; t < half; ++t) total[t] += total[t + half];
    log_z[at(g)] += log_one(total[0]);
  }
  return log_z;
}

}  // namespace kvscope
