// SPDX-License-Identifier: Apache-2.0
// The parts that a policy of a user's own is made of, in words: what every value of every key does, and which keys it brings.
#include "policy/catalog/custom.h"
#include "policy/catalog/geometry_parts.h"
#include "policy/catalog/keys.h"
#include "policy/catalog/learned_parts.h"
#include "policy/catalog/parts.h"
#include "policy/catalog/probing_parts.h"
#include "policy/catalog/refit_parts.h"
#include "policy/catalog/storing_parts.h"
#include "policy/rankings/question_ranking.h"

namespace kvscope {
namespace {

using Kind = ParamInfo::Kind;

/// A ranking by attention.
void ranks(PolicyRow& row, std::unique_ptr<Ranking> (*ranking)(const PartSetup&), const char* statistic, bool sees_question = false) {
  row.ranking = ranking;
  row.info.statistic = statistic;
  row.info.sees_question_in_prefill = sees_question;
  row.takes_group = true;
}
std::unique_ptr<Ranking> by_mean_with_or_without_deviating(const PartSetup& s) {
  return s.params.count("spread", s.slots) > 0 ? by_mean_with_deviating(s) : by_mean(s);
}

std::unique_ptr<Ranking> by_question(const PartSetup& s) {
  return std::make_unique<QuestionRanking>(s.observed, s.params.text("norm") == "1");
}

ParamInfo ema_alpha_key() { return number("ema_alpha", "0.9", 0, 0.999999, "weight of the past in the EMA of exp(logit)"); }

/// A statistic of the list that is offered as it is.
template <class S>
PartChoice choice_of() {
  return {S::kText.key, S::kText.about, [](PolicyRow& r) {
            if (FoldsSteps<S>) return ranks(r, by_column<S>, S::kText.title);
            r.ranking = by_column<S>;
            r.reads_attention = false;
            r.info.statistic = S::kText.title;
          }};
}

PartKey stats() {
  PartKey key{
      "stat",
      "what ranks the slots",
      {{"sum", "attention accumulated over all queries so far", [](PolicyRow& r) { ranks(r, by_sum, "accumulated attention"); }},
       {"none", "position: the newest stay", [](PolicyRow& r) { r.ranking = by_position; }},
       {"decayed",
        "attention so far, older queries count less",
        [](PolicyRow& r) { ranks(r, by_decayed, "decayed attention"); },
        {number("lambda", "0.98", 0, 1, "weight of a query against the next one")}},
       {"mean",
        "mean attention since the token came in",
        [](PolicyRow& r) { ranks(r, by_mean_with_or_without_deviating, "mean attention"); },
        {share_or_count("spread", "0", "slots kept besides because their attention varies most (0.3 = of the budget)")}},
       {"last", "attention of this step", [](PolicyRow& r) { ranks(r, by_last_row, "attention of this step", true); }},
       {"window",
        "mean attention of the last queries, newer ones count more",
        [](PolicyRow& r) { ranks(r, by_weighted_rows, "attention of the last queries", true); },
        {window("32", "last queries that count", 1)}},
       {"recent", "as window, over as many queries as recent slots are protected",
        [](PolicyRow& r) { ranks(r, by_recent_rows, "attention of the recent queries", true); }},
       {"pooled",
        "mean attention of the last queries, pooled over neighbouring tokens; the tokens of these queries stay",
        [](PolicyRow& r) {
          ranks(r, by_pooled_window, "attention of the last queries", true);
          r.observes = true;
        },
        {window("32", "last queries observed, their tokens are kept (at most half of the budget)", 0), kernel(), pool(), whole_window()},
        {.safeguard = "blend"}},
       {"question",
        "mean attention of the last queries, each by how many slots it sees; the tokens of these queries stay",
        [](PolicyRow& r) {
          ranks(r, by_question, "attention of the question", true);
          r.observes = r.observes_more = true;
        },
        {question(), choice("norm", {"1", "0"}, "0: every query counts alike, however many slots it sees")}},
       {"count",
        "how often among the last queries the attention was at least 1/n; equal ones by accumulated attention",
        [](PolicyRow& r) { ranks(r, by_hits, "queries above an equal share"); },
        {window("400", "last queries that count", 1)}},
       {"ema_exp",
        "share of the attention that an EMA of exp(logit) predicts",
        [](PolicyRow& r) {
          ranks(r, by_ema_share, "EMA share", true);
          r.takes_group = false;
        },
        {ema_alpha_key(), window("32", "last queries of the prompt that start the EMA", 1)}}}};
  for_each_statistic([&]<class S>(S) {
    if constexpr (requires { S::kText; }) key.choices.push_back(choice_of<S>());
  });
  key.choices.push_back({"keydiff", "how much the key differs from the mean of all keys of the head", [](PolicyRow& r) {
                           r.ranking = by_key_difference;
                           r.reads_attention = false;
                         }});
  for (PartChoice& c : geometry_rankings()) key.choices.push_back(std::move(c));
  key.choices.push_back(network_ranking());
  key.choices.push_back(gate_ranking());
  key.choices.push_back(probe_ranking());
  key.choices.push_back(reference_ranking());
  key.choices.push_back({"score", "your own score", [](PolicyRow& r) { r.ranking = by_expression; }});
  return key;
}

PartKey reweights() {
  return {"reweight",
          "what the values add to the ranking",
          {{"none", "nothing"},
           {"critical",
            "half by the statistic, the rest by the statistic times the norm of the projected value",
            [](PolicyRow& r) { r.selection = two_stages; },
            {number("critical_alpha", "0.5", 0, 1, "share that is chosen by the statistic alone"), first_of(),
             number("eps", "1e-4", 0, 1, "added to the statistic before it meets the norm")}}}};
}

PartKey units() {
  return {"unit",
          "who decides together",
          {{"head", "every KV head for itself"},
           {"layer", "all heads of a layer, by the mean of their statistics", [](PolicyRow& r) { r.whole_layer = true; }}}};
}

PartKey allocations() {
  PartKey key{
      "alloc",
      "how slots are split over layers and heads",
      {{"uniform", "equally", [](PolicyRow& r) { r.allocation = uniform; }},
       {"pyramid",
        "falling linearly with the layer",
        [](PolicyRow& r) { r.allocation = pyramid; },
        {number("pyramid_beta", "20", 1, 1e6, "how steep: the last layer gets 1/beta of the mean"), pyramid_split()}},
       {"decay",
        "falling with the layer, first slowly, then faster",
        [](PolicyRow& r) { r.allocation = decaying; },
        {number("decay", "0.9", 0, 1, "how slowly the budget falls with the layer (1: not at all)")}},
       {"variance", "more for layers whose heads spread the prompt's attention evenly (prefill only)",
        [](PolicyRow& r) {
          r.allocation = by_variance;
          r.takes_group = true;
        }},
       {"ada",
        "heads of a layer compete: those with more high scores keep more",
        [](PolicyRow& r) { r.allocation = adaptive; },
        {number("ada_alpha", "0.2", 0, 1, "share of the budget that every head is sure of"), safeguard()}},
       {"head",
        "by the importance of each head, from a file",
        [](PolicyRow& r) { r.allocation = by_importance; },
        {number("head_beta", "1.5", 1, 1e6, "1/beta of the budget is split by importance"), retrieval_file()}},
       {"duo",
        "some heads keep everything, the others only the first and the newest slots",
        [](PolicyRow& r) { r.allocation = streaming_heads; },
        {duo_file(), number("sparsity", "0.5", 0, 1, "share of the heads, lowest scores first, that keep only those slots"), fly()}}}};
  key.choices.push_back(flat_allocation());
  key.choices.push_back(curve_allocation());
  return key;
}

PartKey selections() {
  PartKey key{"select",
              "which slots go",
              {{"top",
                "the lowest scores, all at once",
                [](PolicyRow& r) { r.selection = r.selection ? r.selection : top; },  // unless a reweighting selects
                {share_or_count("drop", "1", "tokens that go at once when the budget is exceeded", 1)}},
               {"in_turn", "the lowest scores, one after the other", [](PolicyRow& r) { r.selection = one_by_one; }},
               {"random",
                "drawn at random",
                [](PolicyRow& r) {
                  r.ranking = by_nothing;
                  r.selection = drawn;
                },
                {seed()}},
               {"context",
                "the lowest scores of a context beside the residual slots, in every step",
                [](PolicyRow& r) {
                  r.selection = context_share;
                  r.least_free = room_for_residual;
                },
                {share_or_count("residual", "0.1", "slots that collect removed tokens (0.1 = a tenth of the budget, at least 1)", 1)}},
               {"heavy",
                "all but the highest scores, whatever the budget: the merge makes them fit",
                [](PolicyRow& r) {
                  r.selection = heavy_hitters;
                  r.least_free = room_for_heavy;
                },
                {share_or_count("heavy", "0.24", "slots of the highest score that are never merged (0.24 = share of the budget)")}}}};
  for (PartChoice& c : chunk_selections()) key.choices.push_back(std::move(c));
  key.choices.push_back(threshold_selection());
  return key;
}

PartKey merges() {
  PartKey key{
      "merge",
      "what becomes of what goes",
      {{"none", std::string(kEvicted), [](PolicyRow& r) { r.merger = evict; }},
       {"keepkv",
        "cosine of the keys >= threshold: merged by predicted attention, with votes; else evicted",
        [](PolicyRow& r) {
          r.merger = into_nearest_key;
          r.head_keys = {"threshold"};
          r.info.statistic = "EMA share";
        },
        {window("32", "last queries of the prompt that start the EMA", 1),
         number("threshold", "0.8", -2, 2, "cosine of the keys from which tokens merge (above 1: never)"), ema_alpha_key(),
         choice("predict", {"ema", "current", "window"}, "predicted score: EMA, this step's, or the mean of the last window rows"),
         choice("form", {"bias", "zip", "code"},
                "how the mass is kept: as a logit bias, by the key's length (paper), or not exactly (authors' code)")}},
       {"weightedkv", "value into the next token, weighted by mean attention; the key is dropped",
        [](PolicyRow& r) {
          r.merger = into_neighbour;
          r.takes_group = true;
        }},
       {"zeromerge", "into the residual slot of largest dot product, as a mean by counts", [](PolicyRow& r) { r.merger = into_residual; }},
       {"kvmerger",
        "similar neighbours into the most attended of them, by Gaussian weights of the distance to its key",
        [](PolicyRow& r) {
          r.merger = into_pivots;
          r.head_keys = {"threshold"};
          r.takes_group = true;
        },
        {choice("fit", {"budget", "threshold"},
                "the similarity that starts a new set: found so that the budget holds, or fixed (the size is an outcome)"),
         number("threshold", "0.75", -2, 2, "fit=threshold: cosine of the keys above which a token joins"), gauss_width()}},
       {"d2o",
        "into the most similar key if the cosine reaches the layer's running mean, weighted by exp(cosine); else evicted",
        [](PolicyRow& r) { r.merger = into_alike_enough; },
        {number("d2o_beta", "0.5", 0, 1, "weight of this step's similarities in the layer's threshold"),
         choice("form", {"paper", "code"}, "weights: a true average (paper), or one that shortens keys (authors' code)")}},
       {"cam",
        "value in equal parts to the next m kept tokens, with a chance that grows with its attention; the key is dropped",
        [](PolicyRow& r) {
          r.merger = into_following_values;
          r.info.statistic = "accumulated attention";
          r.takes_group = true;
        },
        {spread_width(), seed()}}}};
  key.choices.push_back(refit_merger());
  return key;
}

PartKey biases() {
  return {"bias",
          "what a slot that stands for several tokens gets on top of its logit",
          {{"none", "nothing"},
           {"votes", "ln of its tokens, and what its merge adds", [](PolicyRow& r) { r.bias = Bias::votes; }},
           {"scaled",
            "bias_alpha times ln of its tokens",
            [](PolicyRow& r) { r.vote_factor_key = "bias_alpha"; },
            {number("bias_alpha", "0.6", 0, 10, "how much the count of a slot lifts its attention")}}}};
}

PartKey places() {
  return {"positions",
          "where a kept key stands",
          {{"original", "at its place in the text"},
           {"cache", "at its index in the cache"},
           {"ceiling", "at its place, but the first tokens never farther away than the window is long"}}};
}

PartKey cadences() {
  return {"cadence",
          "when something goes",
          {{"every_step", "in every step that is over the budget", [](PolicyRow& r) { r.cadence = Cadence::every_step; }},
           {"once", "once after the prompt", [](PolicyRow& r) { r.cadence = Cadence::once; }, {refresh()}},
           {"every",
            "after the prompt and then whenever so many tokens have come",
            [](PolicyRow& r) { r.cadence = Cadence::every; },
            {every(), choice("after_prompt", {"1", "0"}, "0: the prompt stays whole until the first so many tokens have come")}}}};
}

}  // namespace

std::span<const PartKey> part_keys() {
  static const std::vector<PartKey> keys = {stats(),  reweights(), units(),  allocations(), selections(),
                                            merges(), biases(),    places(), cadences(),    storages()};
  return keys;
}

}  // namespace kvscope
