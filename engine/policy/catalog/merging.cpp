// SPDX-License-Identifier: Apache-2.0
#include "policy/catalog/keys.h"
#include "policy/catalog/parts.h"
#include "policy/catalog/rows.h"

namespace kvscope {
namespace {

std::unique_ptr<Merger> into_neighbour_or_off(const PartSetup& s) { return (s.params.text("merge") == "off" ? evict : into_neighbour)(s); }
std::unique_ptr<Allocation> uniform_or_by_variance(const PartSetup& s) {
  return (s.params.text("alloc") == "variance" ? by_variance : uniform)(s);
}

PolicyRow spreading_row() {
  return {
      .info = {.name = "cam",
               .title = "CaM",
               .paper = "CaM: Cache Merging for Memory-efficient LLMs Inference, ICML 2024",
               .idea = "Before a token goes, chance decides by its attention whether its value is spread over the tokens after it.",
               .ranking = "as its base",
               .merging = "value in equal parts to the next m kept tokens, with a chance that grows with its attention; the key is dropped",
               .statistic = "accumulated attention",
               .params = {choice("base", {"streaming", "h2o"}, "whose ranking and protection are used"), spread_width(), seed()}},
      .merger = into_following_values,
      .bases = {"streaming", "h2o"},
      .own_keys = {"alpha", "refresh"}};
}

PolicyRow gated_row() {
  return {
      .info = {.name = "d2o",
               .title = "D2O",
               .paper = "D2O: Dynamic Discriminative Operations, arXiv:2406.13035",
               .idea = "Merges a removed token into the most similar key, if it is as similar as removed tokens of the layer were so far.",
               .ranking = "attention accumulated over all queries so far",
               .merging = "into the most similar key if the cosine reaches the layer's running mean, weighted by exp(cosine); else evicted",
               .statistic = "accumulated attention",
               .params = {sinks("4"), recent("0.5"),
                          number("beta", "0.5", 0, 1, "weight of this step's similarities in the layer's threshold"),
                          choice("form", {"paper", "code"}, "weights: a true average (paper), or one that shortens keys (authors' code)"),
                          choice("alloc", {"uniform", "variance"},
                                 "slots of the layers: equal, or by the variance of the prompt's attention (prefill only)")}},
      .ranking = by_sum,
      .selection = top,
      .allocation = uniform_or_by_variance,
      .merger = into_alike_enough};
}

PolicyRow neighbour_sets_row() {
  return {
      .info =
          {.name = "kvmerger",
           .title = "KVMerger",
           .paper = "Model Tells You Where to Merge, arXiv:2407.08454",
           .idea =
               "Keys of neighbouring tokens are alike: joins runs of similar ones around their most attended token, once after the prompt.",
           .ranking = "attention accumulated over all queries so far",
           .merging = "runs of similar neighbours into their most attended token, by Gaussian weights of the distance to its key",
           .statistic = "accumulated attention",
           .params = {sinks("0"), recent("0.34"),
                      share_or_count("heavy", "0.24",
                                     "slots of most accumulated attention that are never merged (0.24 = share of the budget)"),
                      choice("fit", {"budget", "threshold"},
                             "the similarity that starts a new run: found so that the budget holds, or fixed (the size is an outcome)"),
                      number("threshold", "0.75", -2, 2, "fit=threshold: cosine of the keys above which a token joins"), gauss_width(),
                      refresh()}},
      .ranking = by_sum,
      .selection = heavy_hitters,
      .allocation = uniform,
      .merger = into_pivots,
      .cadence = Cadence::once,
      .least_free = room_for_heavy,
      .head_keys = {"threshold"}};
}

PolicyRow residual_row() {
  return {.info = {.name = "zeromerge",
                   .title = "ZeroMerge",
                   .paper = "ZeroMerge",
                   .idea = "A few slots collect everything that the context cannot hold; their count lifts their attention.",
                   .ranking = "attention so far, older queries count less",
                   .merging = "into the residual slot of largest dot product, as a mean by counts; bias alpha ln count",
                   .statistic = "decayed attention",
                   .params = {sinks("4"), recent("0.4"),
                              share_or_count("residual", "0.1",
                                             "slots that collect removed tokens (0.1 = a tenth of the budget, at least 1)", 1),
                              number("alpha", "0.6", 0, 10, "how much the count of a residual slot lifts its attention"),
                              number("lambda", "0.98", 0, 1, "weight of a query against the next one in the score")}},
          .ranking = by_decayed,
          .selection = context_share,
          .allocation = uniform,
          .merger = into_residual,
          .vote_factor_key = "alpha",
          .least_free = room_for_residual};
}

}  // namespace

std::vector<PolicyRow> merging_rows() {
  std::vector<PolicyRow> rows;
  rows.push_back(spreading_row());
  rows.push_back(gated_row());
  rows.push_back(neighbour_sets_row());
  rows.push_back({.info = {.name = "weightedkv",
                           .title = "WeightedKV",
                           .paper = "WeightedKV: Attention Scores Weighted Key-Value Cache Merging",
                           .idea = "Drops the key of the least attended token and mixes its value into the next one.",
                           .ranking = "mean attention since the token came in",
                           .merging = "value into the next token, weighted by mean attention; the key is dropped",
                           .statistic = "mean attention",
                           .params = {sinks("4"), recent("0.5"),
                                      choice("merge", {"on", "off"}, "off: the value is dropped too (the paper's ablation)")}},
                  .ranking = by_mean,
                  .selection = one_by_one,
                  .allocation = uniform,
                  .merger = into_neighbour_or_off});
  rows.push_back(residual_row());
  return rows;
}

}  // namespace kvscope
