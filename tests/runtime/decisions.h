// SPDX-License-Identifier: Apache-2.0
// The decisions of a lane in float32 against those in float64: how many differ, and how sure float64 was of the ones that do.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "snapshot/snapshot.h"

namespace kvscope::testing {

struct DecisionCount {
  long compared = 0;   // (step, layer, KV head)
  long different = 0;  // of them, other slots or other events
  long close = 0;      // different, and float64's own margin was at most kClose, relative
  long wide = 0;       // different although the margin was larger
  long unknown = 0;    // different, and no single number decided (thresholds, several rankings)
  double widest = 0;   // largest margin among the different ones
  std::string where;   // of it

  static constexpr double kClose = 1e-5;

  void add(const DecisionCount& o) {
    compared += o.compared;
    different += o.different;
    close += o.close;
    wide += o.wide;
    unknown += o.unknown;
    if (o.widest > widest) {
      widest = o.widest;
      where = o.where;
    }
  }
};

inline bool same_decision(const HeadRecord& a, const HeadRecord& b) {
  const auto same_event = [](const Event& x, const Event& y) {
    return x.kind == y.kind && x.pos == y.pos && x.into == y.into && x.form == y.form && x.spread == y.spread;
  };
  return a.n_slots == b.n_slots && a.evicted_votes == b.evicted_votes && a.pos == b.pos && a.votes == b.votes &&
         std::ranges::equal(a.events, b.events, same_event);
}

/// By how much, relative to the larger, the nearest alternative to float64's decision missed it: lowest score kept against highest removed
/// where the kept sets differ, cosine of the target against the next best where only the targets do. NaN: neither decided.
inline double margin(const HeadRecord& exact, const HeadRecord& other) {
  double margin = kNotAvailable;
  const auto relative = [](double high, double low) { return (high - low) / std::max(std::abs(high), std::abs(low)); };
  if (exact.pos != other.pos) {
    double kept = kNotAvailable, gone = kNotAvailable;
    for (const double s : exact.score) kept = std::fmin(kept, s);
    for (const Event& e : exact.events) gone = std::fmax(gone, e.score);
    return kept == gone  ? 0
           : kept > gone ? relative(kept, gone)
                         : kNotAvailable;  // lower ones kept: something else than the score ranked too
  }
  for (std::size_t i = 0; i < std::min(exact.events.size(), other.events.size()); ++i) {
    const Event &a = exact.events[i], &b = other.events[i];
    if (a.pos != b.pos || a.kind != b.kind || a.into == b.into || a.runner_ups.empty() || a.runner_ups.front().first != b.into) continue;
    margin = std::fmax(margin, relative(a.cos, a.runner_ups.front().second));
  }
  return margin;
}

/// Ends after the first step with a difference: from then on the two caches are different caches.
inline DecisionCount compare_decisions(const LaneSnapshot& exact, const LaneSnapshot& other) {
  DecisionCount out;
  for (std::size_t s = 0; s < std::min(exact.steps.size(), other.steps.size()) && out.different == 0; ++s) {
    const auto &a = exact.steps[s]->heads, &b = other.steps[s]->heads;
    for (std::size_t h = 0; h < a.size(); ++h) {
      ++out.compared;
      if (same_decision(a[h], b[h])) continue;
      ++out.different;
      const double m = margin(a[h], b[h]);
      ++(std::isnan(m) ? out.unknown : m <= DecisionCount::kClose ? out.close : out.wide);
      if (m > out.widest) {
        out.widest = m;
        out.where =
            exact.spec + " step " + std::to_string(s) + " layer " + std::to_string(a[h].layer) + " head " + std::to_string(a[h].kv_head);
      }
    }
  }
  return out;
}

}  // namespace kvscope::testing
