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

void add(const AnswerFates::Moment& of, int n_tokens, std::vector<HeadAnswers>& heads) {
  heads.resize(of.kept.size());
  for (std::size_t h = 0; h < heads.size(); ++h) {
    const bool represented = of.kept[h] + of.merged[h] == n_tokens;
    heads[h].kept += of.kept[h] == n_tokens;
    heads[h].merged += represented && of.merged[h] > 0;
    heads[h].evicted += !represented;
  }
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
    band.own_slots.add(results[i]->figure("slots"));
    band.other_slots.add(other->figure("slots"));
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

std::vector<SweepHeads> sweep_heads(std::size_t n_runs, std::span<const std::optional<SweepResult>> results) {
  std::vector<SweepHeads> out(n_runs);
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!results[i] || !results[i]->answer.known()) continue;
    const AnswerFates& answer = results[i]->answer;
    SweepHeads& run = out[i % n_runs];
    if (run.n == 0) run.n_layers = answer.n_layers, run.n_kv_heads = answer.n_kv_heads;
    if (run.n_layers != answer.n_layers || run.n_kv_heads != answer.n_kv_heads) continue;
    ++run.n;
    add(answer.after_prompt, answer.n_tokens, run.after_prompt);
    add(answer.at_end, answer.n_tokens, run.at_end);
  }
  return out;
}

}  // namespace kvscope
