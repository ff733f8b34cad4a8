// SPDX-License-Identifier: Apache-2.0
#include "trace/sweep_bands.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"

namespace kvscope {

namespace {

/// Above 0: a is better than b; NaN: not to be compared.
double advantage(const SweepResult& a, const SweepResult& b) {
  const double by_score = a.figure("score") - b.figure("score");
  return std::isnan(by_score) ? b.figure("kl") - a.figure("kl") : by_score;
}

}  // namespace

std::vector<SweepBand> sweep_bands(std::span<const std::size_t> beside, std::span<const std::optional<SweepResult>> results) {
  std::vector<SweepBand> out(beside.size());
  KVSCOPE_ASSERT(out.empty() ? results.empty() : results.size() % out.size() == 0);
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!results[i]) continue;
    const std::size_t run = i % out.size();
    SweepBand& band = out[run];
    ++band.n;
    for (std::size_t f = 0; f < band.figures.size(); ++f) band.figures[f].add(results[i]->figures[f]);
    const std::optional<SweepResult>& other = results[i - run + beside[run]];
    const double ahead = beside[run] == run || !other ? kNotAvailable : advantage(*results[i], *other);
    if (std::isnan(ahead)) continue;
    ++band.compared;
    band.better += ahead > 0;
    band.worse += ahead < 0;
  }
  return out;
}

std::optional<std::size_t> sweep_depth_of(const SweepContents::Text& text) {
  if (std::isnan(text.depth)) return std::nullopt;
  return std::min(static_cast<std::size_t>(text.depth * kSweepDepths), kSweepDepths - 1);
}

std::vector<std::array<Statistics, kSweepDepths>> sweep_depths(const SweepContents& contents,
                                                               std::span<const std::optional<SweepResult>> results) {
  std::vector<std::array<Statistics, kSweepDepths>> out(contents.runs.size());
  for (std::size_t i = 0; i < results.size(); ++i) {
    const std::optional<std::size_t> row = sweep_depth_of(contents.text_of(i));
    if (!results[i] || !row) continue;
    out[i % out.size()][*row].add(results[i]->figure("score"));
  }
  return out;
}

}  // namespace kvscope
