// SPDX-License-Identifier: Apache-2.0
#include "policy/rankings/trigonometric_ranking.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/error.h"
#include "policy/rankings/rows.h"

namespace kvscope {
namespace {

constexpr int kOffsets = 17;  // 1, 2, 4, ..., 65536

struct Turn {
  double cosine = 0, sine = 0;
};

/// Mean of the turns by all offsets.
Turn mean_turn(double radians) {
  Turn sum;
  for (int e = 0; e < kOffsets; ++e) {
    sum.cosine += std::cos(radians * std::exp2(e)) / kOffsets;
    sum.sine += std::sin(radians * std::exp2(e)) / kOffsets;
  }
  return sum;
}

/// Mean 0 and deviation 1, of all of them.
void standardise(std::span<double> x) {
  Moments m = moments(x);
  const auto n = static_cast<double>(x.size());
  m.deviation *= std::sqrt((n - 1) / n);  // of these, not of those they would be a sample of
  for (double& v : x) v = standardised(v, m);
}

}  // namespace

std::vector<double> trigonometric_scores(const QueryCenters& c, std::span<const double> keys, std::span<const int> pos, int next,
                                         std::span<double> spreads) {
  const std::size_t n = pos.size(), width = keys.size() / n, half = c.turn.size(), group = c.mean.size() / width;
  std::vector<double> score(group * n, 0.0);
  std::vector<double> ahead(c.mean), spread(c.length);  // the center, turned on by the offsets; what the lengths have beyond it
  for (std::size_t f = 0; f < half; ++f) {
    const Turn mean = mean_turn(c.turn[f]);
    for (std::size_t g = 0; g < group; ++g) {
      double &a = ahead[g * width + f], &b = ahead[g * width + f + half], was = a;
      spread[g * half + f] -= std::hypot(a, b);
      a = mean.cosine * a - mean.sine * b;
      b = mean.cosine * b + mean.sine * was;
    }
  }
  std::vector<double> key(width), length(half);
  for (std::size_t i = 0; i < n; ++i) {
    std::ranges::copy(keys.subspan(i * width, width), key.begin());
    for (std::size_t f = 0; f < half; ++f) {  // the key, turned back to the token that comes next
      const double angle = c.turn[f] * (next - pos[i]), cosine = std::cos(angle), sine = std::sin(angle), a = key[f], b = key[f + half];
      length[f] = std::sqrt(a * a + b * b);
      key[f] = cosine * a + sine * b;
      key[f + half] = cosine * b - sine * a;
    }
    for (std::size_t g = 0; g < group; ++g) {
      double sum = 0;
      for (std::size_t x = 0; x < width; ++x) sum += ahead[g * width + x] * key[x];
      double beyond = 0;
      for (std::size_t f = 0; f < half; ++f) beyond += spread[g * half + f] * length[f];
      score[g * n + i] = sum + beyond;
      if (!spreads.empty()) spreads[g * n + i] = beyond;
    }
  }
  return score;
}

std::vector<double> TrigonometricRanking::score(const HeadView& head) const {
  KVSCOPE_ASSERT(head.centers);
  const std::vector<int>& pos = head.slots->pos;
  const std::size_t n = pos.size();
  std::vector<double> spreads(head.terms ? head.centers->mean.size() / head.centers->turn.size() / 2 * n : 0);
  std::vector<double> of_group = trigonometric_scores(*head.centers, head.keys->unrotated_keys(), pos, pos.back() + 1, spreads);
  std::vector<double> best(n, -std::numeric_limits<double>::infinity()), turned(n), spread(n);
  for (std::size_t first = 0; first < of_group.size(); first += n) {
    const auto score = std::span(of_group).subspan(first, n);
    const std::vector<double> whole(score.begin(), score.end());
    if (standardise_) standardise(score);
    for (std::size_t i = 0; i < n; ++i) {
      if (!spreads.empty() && score[i] > best[i]) spread[i] = spreads[first + i], turned[i] = whole[i] - spread[i];
      best[i] = std::max(best[i], score[i]);
    }
  }
  head.note("turned", turned);
  head.note("spread", spread);
  return best;
}

std::string TrigonometricRanking::equation() const {
  return fmt::format(
      "turned + spread{}: Σ |E q||k| cos at the distances to come, and Σ (E|q| − |E q|)|k|, both over the rotary frequencies",
      standardise_ ? ", standardised, of the query heads the largest" : ", of the query heads the largest");
}

}  // namespace kvscope
