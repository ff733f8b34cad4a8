// SPDX-License-Identifier: Apache-2.0
#include "policy/catalog/geometry_parts.h"

#include "core/not_available.h"
#include "policy/catalog/keys.h"
#include "policy/rankings/expected_ranking.h"
#include "policy/rankings/filter_ranking.h"
#include "policy/rankings/lag_ranking.h"
#include "policy/rankings/non_causal_ranking.h"
#include "policy/rankings/norm_product_ranking.h"
#include "policy/rankings/redundancy_ranking.h"
#include "policy/rankings/removal_ranking.h"
#include "policy/rankings/trigonometric_ranking.h"
#include "policy/selections/chunk_selection.h"

namespace kvscope {
namespace {

ParamInfo count(std::string key, std::string default_text, int min, int max, std::string help) {
  return {.key = std::move(key),
          .kind = ParamInfo::Kind::count,
          .default_text = std::move(default_text),
          .min = 1.0 * min,
          .max = 1.0 * max,
          .help = std::move(help)};
}
ParamInfo sketch() { return count("sketch", "48", 0, 4096, "columns of the random matrix that keys are multiplied with (0: none, exact)"); }
ParamInfo attention_chunk() { return count("attention_chunk", "256", 1, 65536, "tokens of the prompt that attend to each other"); }

int chunk_of(const PartSetup& s, std::string_view key) { return static_cast<int>(s.params.first_number({key, "chunk"})); }

template <auto Make>
void ranks_by(PolicyRow& row) {
  row.ranking = Make;
  row.reads_attention = false;
}

std::unique_ptr<Ranking> by_lag(const PartSetup& s) {
  return std::make_unique<LagRanking>(s.params.count("sinks", s.slots), s.params.count("lag", s.slots), s.params.text("cross") == "1");
}
std::unique_ptr<Ranking> by_norm_product(const PartSetup& s) {
  return std::make_unique<NormProductRanking>(std::max(1, s.params.count("window", s.slots)));
}
LeverageRanking leverage(const PartSetup& s) { return {s.params.count("sketch", s.slots), s.seed}; }
std::unique_ptr<Ranking> by_leverage(const PartSetup& s) { return std::make_unique<LeverageRanking>(leverage(s)); }
std::unique_ptr<Ranking> by_non_causal(const PartSetup& s) { return std::make_unique<NonCausalRanking>(chunk_of(s, "attention_chunk")); }
std::unique_ptr<Ranking> by_compactor(const PartSetup& s) {
  const double blend = s.params.text("blend") == "removed" ? kNotAvailable : s.params.number("blend");
  return std::make_unique<BlendedRanking>(leverage(s), NonCausalRanking(chunk_of(s, "attention_chunk")), s.params.count("sinks", s.slots),
                                          s.params.count("recent", s.slots), blend, s.slots);
}
std::unique_ptr<Ranking> by_expected(const PartSetup& s) {
  return std::make_unique<ExpectedRanking>(ExpectedRanking::Options{.sinks = s.params.count("sinks", s.slots),
                                                                    .future = s.params.count("future", s.slots),
                                                                    .covariance = s.params.text("cov") == "1",
                                                                    .value_norm = s.params.text("vnorm") == "1",
                                                                    .eps = s.params.first_number({"expected_eps", "eps"})});
}

std::unique_ptr<Ranking> by_filter(const PartSetup& s) { return std::make_unique<FilterRanking>(s.files.vectors, s.model); }
std::unique_ptr<Ranking> by_distance(const PartSetup& s) { return std::make_unique<TrigonometricRanking>(s.params.text("zscore") == "1"); }
std::unique_ptr<Ranking> by_redundancy(const PartSetup& s) {
  return std::make_unique<RedundancyRanking>(RedundancyRanking::Options{.window = s.observed,
                                                                        .kernel = s.params.count("kernel", s.slots),
                                                                        .lambda = s.params.first_number({"mix", "lambda"}),
                                                                        .similar = s.params.number("similar")});
}

std::unique_ptr<Ranking> by_removal(const PartSetup& s) {
  return std::make_unique<RemovalRanking>(RemovalRanking::Options{.window = s.observed,
                                                                  .kernel = s.params.count("kernel", s.slots),
                                                                  .eps = s.params.first_number({"removal_eps", "eps"}),
                                                                  .group = s.group});
}
/// Looks at the last queries.
template <auto Make>
void observes_by(PolicyRow& row) {
  ranks_by<Make>(row);
  row.observes = true;
  row.info.sees_question_in_prefill = true;
}

template <ChunkSelection::Keeps Keeps>
std::unique_ptr<Selection> chunks(const PartSetup& s) {
  const int size = s.params.count(Keeps == ChunkSelection::Keeps::fits ? "block" : "chunk", s.slots);
  return std::make_unique<ChunkSelection>(size, Keeps, s.params.has("ratio") ? s.params.number("ratio") : 0.0,
                                          s.params.is("round", "down"));
}

/// As the press has it that its authors propose.
ParamInfo whole_window_unless_told() {
  ParamInfo key = whole_window();
  key.default_text = "1";
  return key;
}

ParamInfo blend() {
  return {.key = "blend",
          .kind = ParamInfo::Kind::text,
          .default_text = "removed",
          .min = 0,
          .max = 1e6,
          .choices = {"removed"},
          .help = "weight of the leverage beside the attention: removed, the share of slots that go, or a number"};
}

}  // namespace

std::vector<PartChoice> geometry_rankings() {
  return {{"lagkv",
           "how much key and value stand out against the stretch of text that follows: rank of softmax(std((x - min)/(max - min)))",
           ranks_by<by_lag>,
           {count("lag", "128", 2, 65536, "tokens of a stretch; fewer than two of them after the sinks: the newest stay"),
            choice("cross", {"0", "1"}, "1: scores themselves, which can be compared between stretches and heads")},
           {"4", "0"}},
          {"leverage",
           "leverage of the key before rotation: x (X'X + 0.01)^-1 x' of the centred keys, normalised over the layer",
           ranks_by<by_leverage>,
           {sketch(), seed()},
           {"0", "0"}},
          {"cur",
           "squared norms of key and value, each as its share of a window, multiplied",
           ranks_by<by_norm_product>,
           {window("16", "neighbouring slots whose norms make one share together", 1)},
           {"4", "0"}},
          {"noncausal",
           "attention inside a chunk of the prompt, later queries included, times the norm of the value, mean of 3 neighbours",
           ranks_by<by_non_causal>,
           {attention_chunk()},
           {"0", "0"}},
          {"compactor",
           "blend x leverage of the key + attention inside a chunk of the prompt, both normalised over the layer",
           ranks_by<by_compactor>,
           {blend(), sketch(), attention_chunk(), seed()},
           {"8", "4"}},
          {"expected",
           "attention expected of the queries to come: softmax(mu.k/sqrt(d) + k'Sigma k/2d) times the norm of the value",
           ranks_by<by_expected>,
           {count("future", "512", 1, 1'000'000, "positions after the prompt whose queries are expected"),
            choice("cov", {"1", "0"}, "0: only the mean of the queries counts"),
            choice("vnorm", {"1", "0"}, "0: without the norm of the value"),
            number("expected_eps", "0", 0, 1, "added to the expected attention before it meets the norm")},
           {"4", "0"}},
          {"qfilter",
           "how little the key points along the main direction of the head's queries, from a file",
           ranks_by<by_filter>,
           {filter_file()},
           {"0", "0"}},
          {"tri",
           "attention that queries around the prompt's center pay at the distances to come; of the group's query heads the largest",
           ranks_by<by_distance>,
           {choice("zscore", {"1", "0"}, "1: the scores of every query head are brought to mean 0 and deviation 1 first")},
           {"0", "0"}},
          {"rkv",
           "attention of the last queries, pooled, weighed against how much other keys say the same; the tokens of these queries stay",
           observes_by<by_redundancy>,
           {window("8", "last queries observed, their tokens are kept (at most half of the budget)", 1), kernel(),
            number("mix", "0.07", 0, 1, "weight of the attention beside the redundancy of the key"),
            number("similar", "0.5", 0, 1, "cosine above which two keys say the same: the newest of them is spared")},
           {"0", "0"}},
          {"dropkv",
           "how far the last queries' outputs would move if the slot alone went, averaged over neighbouring tokens; their tokens stay",
           observes_by<by_removal>,
           {window("32", "last queries observed, their tokens are kept", 1), kernel(), whole_window_unless_told(),
            number("removal_eps", "1e-6", 0, 1, "added to 1 - p, which p is divided by")},
           {"0", "0"}}};
}

std::vector<PartChoice> chunk_selections() {
  using Keeps = ChunkSelection::Keeps;
  return {{"chunks",
           "whole chunks of neighbouring tokens by their mean score: max(1, floor(chunks x share kept)) of them stay",
           [](PolicyRow& r) { r.selection = chunks<Keeps::share>; },
           {count("chunk", "20", 1, 65536, "tokens of a chunk")}},
          {"pages",
           "whole pages by their mean score, as many as fit into the budget; the heads of a layer alike",
           [](PolicyRow& r) { r.selection = chunks<Keeps::fits>; },
           {count("block", "16", 1, 65536, "tokens of a page")}}};
}

}  // namespace kvscope
