// SPDX-License-Identifier: Apache-2.0
#include "trace/sweep_bands.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "core/error.h"

namespace kvscope {

namespace {

/// Above 0: a is better than b; NaN: not to be compared.
double advantage(const SweepResult& a, const SweepResult& b) {
  const double by_score = a.figure("score") - b.figure("score");
  return std::isnan(by_score) ? b.figure("kl") - a.figure("kl") : by_score;
}

/// What a run draws by chance shows in one of these.
bool alike(const SweepResult& a, const SweepResult& b) {
  return std::ranges::all_of(std::array{"slots", "kl", "nll", "top1_same", "local_rel_l2", "score"}, [&](const char* name) {
    const double x = a.figure(name), y = b.figure(name);
    return x == y || (std::isnan(x) && std::isnan(y));
  });
}

/// Several seeds of one text at least are there, and those that are gave the same.
bool seeds_alike(std::size_t run, std::size_t n_runs, std::size_t n_seeds, std::span<const std::optional<SweepResult>> results) {
  if (n_seeds < 2) return false;
  bool several = false;
  for (std::size_t text = run; text < results.size(); text += n_runs * n_seeds) {
    const SweepResult* first = nullptr;
    for (std::size_t seed = 0; seed < n_seeds; ++seed) {
      const std::optional<SweepResult>& one = results[text + seed * n_runs];
      if (!one) continue;
      if (first && !alike(*one, *first)) return false;
      several = several || first;
      if (!first) first = &*one;
    }
  }
  return several;
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

std::vector<SweepBand> sweep_bands(std::span<const std::size_t> beside, std::size_t n_seeds,
                                   std::span<const std::optional<SweepResult>> results) {
  std::vector<SweepBand> out(beside.size());
  const std::size_t of_text = out.size() * n_seeds;
  KVSCOPE_ASSERT(of_text == 0 ? results.empty() : results.size() % of_text == 0);
  for (std::size_t run = 0; run < out.size(); ++run) out[run].seeds_alike = seeds_alike(run, out.size(), n_seeds, results);
  for (std::size_t run = 0; run < out.size(); ++run)
    out[run].texts_once = beside[run] != run && out[run].seeds_alike && out[beside[run]].seeds_alike;
  std::vector<char> counted(out.size());  // in the text that is looked at
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (i % of_text == 0) std::ranges::fill(counted, false);
    if (!results[i]) continue;
    const std::size_t run = i % out.size();
    SweepBand& band = out[run];
    ++band.n;
    for (std::size_t f = 0; f < band.figures.size(); ++f) band.figures[f].add(results[i]->figures[f]);
    const std::optional<SweepResult>& other = results[i - run + beside[run]];
    const double ahead = beside[run] == run || !other ? kNotAvailable : advantage(*results[i], *other);
    if (std::isnan(ahead) || (band.texts_once && counted[run])) continue;
    counted[run] = true;
    ++band.compared;
    band.own_bytes.add(results[i]->figure("kv_bytes"));
    band.other_bytes.add(other->figure("kv_bytes"));
    band.better += ahead > 0;
    band.worse += ahead < 0;
  }
  return out;
}

std::string words_of_pairs(const SweepBand& band) {
  if (band.compared == 0) return {};
  const std::string_view of = !band.texts_once ? "" : band.compared == 1 ? " text (all seeds alike)" : " texts (all seeds alike)";
  return fmt::format("better on {} of {}{}, worse on {}", band.better, band.compared, of, band.worse);
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
