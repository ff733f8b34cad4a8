// SPDX-License-Identifier: Apache-2.0
#include "runtime/model/head_scores.h"

#include <fmt/core.h>

#include "core/error.h"
#include "runtime/prompt/prompt_run.h"
#include "runtime/session/session_impl.h"

namespace kvscope {

namespace {

void check(const HeadProbe& probe, const ModelConfig& config) {
  const int n = static_cast<int>(probe.ids.size());
  if (probe.copies.empty()) throw UsageError("head scores: expected texts in which something is repeated, got one without");
  if (config.max_positions > 0 && n > config.max_positions)
    throw UsageError(
        fmt::format("head scores: a text of {} tokens, but {} was made for {}; shorten it", n, config.name, config.max_positions));
  int last = -1;
  for (const auto& [query, target] : probe.copies) {
    if (query <= last || query >= n || target < 0 || target > query)
      throw UsageError(
          fmt::format("head scores: expected positions in ascending order inside {} tokens, got {} looking at {}", n, query, target));
    last = query;
  }
}

}  // namespace

HeadScores score_heads(ModelFiles files, const SessionOptions& session, std::span<const HeadProbe> probes, const HeadScoreOptions& options,
                       const CancelToken& cancel, const std::function<void(double)>& progress) {
  const auto backend = choose_backend(session, files).backend;
  const Model model = load_model(std::move(files), *backend);
  const ModelConfig& c = model.config();
  if (probes.empty()) throw UsageError("head scores: expected at least one text, got none");
  for (const HeadProbe& probe : probes) check(probe, c);

  Forward forward(*backend, model);
  StatNeeds outside;
  outside.outside = {.sinks = options.sinks, .recent = options.recent};
  PromptNeeds needs;
  needs.add(outside);
  HeadScores out{c.n_layers, c.n_heads, c.n_kv_heads, std::vector<double>(static_cast<std::size_t>(c.n_layers) * c.n_heads, 0.0),
                 std::vector<double>(static_cast<std::size_t>(c.n_layers) * c.n_kv_heads, 0.0)};
  std::size_t n_copies = 0;
  for (std::size_t i = 0; i < probes.size(); ++i) {
    PromptRun run(*backend, model);
    for (const auto& [query, target] : probes[i].copies) {
      // the run keeps the attention of its last row: it grows from query to query
      const std::size_t n = static_cast<std::size_t>(query) + 1;
      run.update(std::span(probes[i].ids).first(n), needs, forward, cancel, {});
      ++n_copies;
      for (int l = 0; l < c.n_layers; ++l) {
        const std::span<const double> attention = run.last_attention(l);
        for (int g = 0; g < c.n_heads; ++g)
          out.retrieval[static_cast<std::size_t>(l) * c.n_heads + g] += attention[static_cast<std::size_t>(g) * n + target];
      }
    }
    for (int l = 0; l < c.n_layers; ++l) {
      for (int h = 0; h < c.n_kv_heads; ++h)
        out.outside[static_cast<std::size_t>(l) * c.n_kv_heads + h] += run.stats(l, h, outside).outside;
    }
    if (progress) progress(static_cast<double>(i + 1) / static_cast<double>(probes.size()));
  }
  for (double& x : out.retrieval) x /= static_cast<double>(n_copies);
  for (double& x : out.outside) x /= static_cast<double>(probes.size());
  return out;
}

}  // namespace kvscope
