// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "policy/allocations/variance_allocation.h"
#include "policy/area_selection.h"
#include "policy/catalog/keys.h"
#include "policy/catalog/rows.h"
#include "policy/mergers/gated_merge.h"
#include "policy/mergers/neighbour_sets.h"
#include "policy/mergers/residual_merge.h"
#include "policy/mergers/value_spread.h"
#include "policy/mergers/weighted_neighbour.h"

namespace kvscope {
namespace {

constexpr auto by_mean = plain<MeanRanking, Ranking>;
std::unique_ptr<Selection> one_by_one(const PartSetup&) { return std::make_unique<TopSelection>(RemovalOrder::lowest_first); }
std::unique_ptr<Merger> into_neighbour(const PartSetup& s) {
  if (s.params.text("merge") == "off") return std::make_unique<NoMerger>();
  return std::make_unique<WeightedNeighbourMerger>();
}

std::unique_ptr<Merger> into_following_values(const PartSetup& s) {
  return std::make_unique<ValueSpreadMerger>(s.params.count("m", s.slots), s.seed);
}

std::unique_ptr<Allocation> uniform_or_by_variance(const PartSetup& s) {
  if (s.params.text("alloc") == "variance") return std::make_unique<VarianceAllocation>();
  return std::make_unique<UniformAllocation>();
}
std::unique_ptr<Merger> into_alike_enough(const PartSetup& s) {
  return std::make_unique<GatedMerger>(s.params.number("beta"), s.params.text("form") == "code" ? MergeForm::code : MergeForm::paper);
}

int heavy(const Params& params, int slots) { return params.count("heavy", slots); }
std::unique_ptr<Selection> heavy_hitters(const PartSetup& s) { return std::make_unique<HeavySelection>(heavy(s.params, s.slots)); }
std::unique_ptr<Merger> into_pivots(const PartSetup& s) {
  NeighbourSetMerger::Options options;
  options.fits_budget = s.params.text("fit") == "budget";
  options.threshold = s.params.number("threshold");
  const std::string& sigma = s.params.text("sigma");
  if (sigma == "eq7")
    options.sigma.kind = Sigma::Kind::eq7;
  else if (sigma != "mean")
    options.sigma = {Sigma::Kind::number, s.params.number("sigma")};
  return std::make_unique<NeighbourSetMerger>(options);
}

int residual_places(const Params& params, int slots) { return std::max(1, params.count("residual", slots)); }
std::unique_ptr<Ranking> by_decayed(const PartSetup& s) { return std::make_unique<DecayedRanking>(s.params.number("lambda")); }
std::unique_ptr<Selection> context_share(const PartSetup& s) {
  return std::make_unique<ContextSelection>(residual_places(s.params, s.slots));
}
std::unique_ptr<Merger> into_residual(const PartSetup& s) { return std::make_unique<ResidualMerger>(residual_places(s.params, s.slots)); }

PolicyRow spreading_row() {
  return {
      .info = {.name = "cam",
               .title = "CaM",
               .paper = "CaM: Cache Merging for Memory-efficient LLMs Inference, ICML 2024",
               .idea = "Before a token goes, chance decides by its attention whether its value is spread over the tokens after it.",
               .ranking = "as its base",
               .merging = "value in equal parts to the next m kept tokens, with a chance that grows with its attention; the key is dropped",
               .statistic = "accumulated attention",
               .params = {choice("base", {"streaming", "h2o"}, "whose ranking and protection are used"),
                          {.key = "m",
                           .kind = ParamInfo::Kind::count,
                           .default_text = "32",
                           .min = 1,
                           .max = 65536,
                           .help = "kept tokens after it that share the value (at most)"},
                          seed()}},
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
           .params = {sinks("0"),
                      recent("0.34"),
                      share_or_count("heavy", "0.24",
                                     "slots of most accumulated attention that are never merged (0.24 = share of the budget)"),
                      choice("fit", {"budget", "threshold"},
                             "the similarity that starts a new run: found so that the budget holds, or fixed (the size is an outcome)"),
                      number("threshold", "0.75", -2, 2, "fit=threshold: cosine of the keys above which a token joins"),
                      {.key = "sigma",
                       .kind = ParamInfo::Kind::text,
                       .default_text = "mean",
                       .min = 0,
                       .max = 1e9,
                       .choices = {"mean", "eq7"},
                       .help = "width of the Gaussian: mean distance to the pivot, the paper's Eq. 7, or a number"},
                      refresh()}},
      .ranking = by_sum,
      .selection = heavy_hitters,
      .allocation = uniform,
      .merger = into_pivots,
      .cadence = Cadence::once,
      .least_free = [](const Params& params, int slots) { return heavy(params, slots) + 1; }};
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
          .least_free = residual_places};
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
                  .merger = into_neighbour});
  rows.push_back(residual_row());
  return rows;
}

}  // namespace kvscope
