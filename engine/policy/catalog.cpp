// SPDX-License-Identifier: Apache-2.0
// The table of named policies. The only place that knows their names: a policy is a row, what it does is its parts.
#include "policy/catalog.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "policy/mergers/keepkv_merge.h"
#include "policy/mergers/weighted_neighbour.h"
#include "policy/policy_row.h"

namespace kvscope {
namespace {

using Kind = ParamInfo::Kind;

// ---- keys
ParamInfo share_or_count(std::string key, std::string default_text, std::string help, int min = 0, int max = 100'000'000) {
  return {.key = std::move(key),
          .kind = Kind::count_or_fraction,
          .default_text = std::move(default_text),
          .min = 1.0 * min,
          .max = 1.0 * max,
          .help = std::move(help)};
}
ParamInfo choice(std::string key, std::vector<std::string> choices, std::string help) {
  std::string first = choices.front();
  return {.key = std::move(key),
          .kind = Kind::choice,
          .default_text = std::move(first),
          .choices = std::move(choices),
          .help = std::move(help)};
}
ParamInfo number(std::string key, std::string default_text, double min, double max, std::string help) {
  return {.key = std::move(key),
          .kind = Kind::number,
          .default_text = std::move(default_text),
          .min = min,
          .max = max,
          .help = std::move(help)};
}
ParamInfo sinks(std::string default_text) {
  return share_or_count("sinks", std::move(default_text),
                        "first tokens of the text that are never removed (slots; 0.1 = a tenth of the budget)");
}
ParamInfo recent(std::string default_text) {
  return share_or_count("recent", std::move(default_text), "newest slots that are never removed (slots; 0.5 = half of the budget)");
}
ParamInfo window(std::string help, int min) { return share_or_count("window", "32", std::move(help), min, 65536); }

// ---- parts
template <class Part, class Base>
std::unique_ptr<Base> plain(const PartSetup&) {
  return std::make_unique<Part>();
}
constexpr auto by_position = plain<PositionRanking, Ranking>;
constexpr auto by_sum = plain<SumRanking, Ranking>;
constexpr auto by_mean = plain<MeanRanking, Ranking>;
std::unique_ptr<Ranking> by_weighted_rows(const PartSetup& s) {
  return std::make_unique<WeightedRowsRanking>(std::max(1, s.params.count("window", s.slots)));
}
std::unique_ptr<Ranking> by_pooled_window(const PartSetup& s) {
  const Pool pool = s.params.text("pool") == "avg" ? Pool::avg : Pool::max;
  return std::make_unique<PooledWindowRanking>(s.observed, s.params.count("kernel", s.slots), pool);
}
std::unique_ptr<Selection> top(const PartSetup&) { return std::make_unique<TopSelection>(RemovalOrder::by_pos); }
std::unique_ptr<Selection> one_by_one(const PartSetup&) { return std::make_unique<TopSelection>(RemovalOrder::lowest_first); }
constexpr auto uniform = plain<UniformAllocation, Allocation>;
constexpr auto unlimited = plain<UnlimitedAllocation, Allocation>;
constexpr auto evict = plain<NoMerger, Merger>;
std::unique_ptr<Merger> into_neighbour(const PartSetup& s) {
  if (s.params.text("merge") == "off") return std::make_unique<NoMerger>();
  return std::make_unique<WeightedNeighbourMerger>();
}
Predict predict_of(std::string_view text) {
  if (text == "current") return Predict::current;
  return text == "window" ? Predict::window : Predict::ema;
}
MergeForm form_of(std::string_view text) {
  if (text == "zip") return MergeForm::zip;
  return text == "code" ? MergeForm::code : MergeForm::bias;
}
std::unique_ptr<Merger> into_nearest_key(const PartSetup& s) {
  KeepkvMerger::Options options;
  options.threshold = s.params.number("threshold");
  options.predict = predict_of(s.params.text("predict"));
  options.alpha = s.params.number("alpha");
  options.window = std::max(1, s.params.count("window", s.slots));
  options.form = form_of(s.params.text("form"));
  options.group = s.group;
  return std::make_unique<KeepkvMerger>(options);
}

constexpr std::string_view kEvicted = "none: removed tokens are evicted";

std::vector<PolicyRow> make_rows() {
  std::vector<PolicyRow> rows;
  rows.push_back({.info = {.name = "full",
                           .title = "Full cache",
                           .idea = "Keeps every token; the reference that every other policy is measured against.",
                           .ranking = "none",
                           .merging = "none: nothing is removed"},
                  .ranking = by_position,
                  .selection = top,
                  .allocation = unlimited,
                  .merger = evict,
                  .has_budget = false});
  rows.push_back({.info = {.name = "local",
                           .title = "Local window",
                           .idea = "Keeps the newest tokens and forgets the rest.",
                           .ranking = "position: the newest stay",
                           .merging = std::string(kEvicted),
                           .params = {sinks("0")}},
                  .ranking = by_position,
                  .selection = top,
                  .allocation = uniform,
                  .merger = evict});
  rows.push_back(
      {.info = {.name = "streaming",
                .title = "StreamingLLM",
                .paper = "Efficient Streaming Language Models with Attention Sinks, arXiv:2309.17453",
                .idea = "The first tokens soak up attention that has nowhere to go: keeps them beside the newest ones.",
                .ranking = "position: the first few and the newest stay",
                .merging = std::string(kEvicted),
                .params = {sinks("4"), choice("positions", {"cache", "original"},
                                              "position of a key: its index in the cache (as published), or its place in the text")}},
       .ranking = by_position,
       .selection = top,
       .allocation = uniform,
       .merger = evict});
  rows.push_back({.info = {.name = "h2o",
                           .title = "H2O",
                           .paper = "H2O: Heavy-Hitter Oracle, NeurIPS 2023",
                           .idea = "Few tokens collect most of the attention: keeps these heavy hitters and the newest tokens.",
                           .ranking = "attention accumulated over all queries so far",
                           .merging = std::string(kEvicted),
                           .statistic = "accumulated attention",
                           .params = {sinks("0"), recent("0.5")}},
                  .ranking = by_sum,
                  .selection = top,
                  .allocation = uniform,
                  .merger = evict});
  rows.push_back(
      {.info = {.name = "snapkv",
                .title = "SnapKV",
                .paper = "SnapKV: LLM Knows What You are Looking for Before Generation, arXiv:2404.14469",
                .idea = "The last queries of the prompt tell which earlier tokens matter: compresses once, after the prompt.",
                .ranking = "mean attention of the last queries, pooled over neighbouring tokens",
                .merging = std::string(kEvicted),
                .statistic = "attention of the last queries",
                .sees_question_in_prefill = true,
                .params = {sinks("0"),
                           window("last queries observed, their tokens are kept (at most half of the budget)", 0),
                           {.key = "kernel",
                            .kind = Kind::count,
                            .default_text = "7",
                            .min = 1,
                            .max = 4095,
                            .odd = true,
                            .help = "width of the pooling over neighbouring tokens (odd)"},
                           choice("pool", {"max", "avg"}, "pooling over neighbouring tokens"),
                           {.key = "refresh",
                            .kind = Kind::count,
                            .min = 0,
                            .max = 100'000'000,
                            .help =
                                "compress again when this many tokens are over the budget (0: only after the prompt; stream mode: 1)"}}},
       .ranking = by_pooled_window,
       .selection = top,
       .allocation = uniform,
       .merger = evict,
       .cadence = Cadence::once,
       .observes = true});
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
  rows.push_back(
      {.info = {.name = "keepkv",
                .title = "KeepKV",
                .paper = "KeepKV, arXiv:2504.09936",
                .idea =
                    "Merges what it removes into the most similar key and counts votes, so that the output of the step stays what it was.",
                .ranking = "mean attention of the last queries, newer ones count more",
                .merging = "cosine of the keys >= threshold: merged by predicted attention, with votes; else evicted",
                .statistic = "EMA share",
                .sees_question_in_prefill = true,
                .params = {choice("base", {"window"}, "whose ranking, protection and budgets are used"),
                           window("last queries that rank the tokens and start the EMA", 1),
                           number("threshold", "0.8", -2, 2, "cosine of the keys from which tokens merge (above 1: never)"),
                           number("alpha", "0.9", 0, 0.999999, "weight of the past in the EMA of the scores"),
                           choice("predict", {"ema", "current", "window"},
                                  "predicted score: EMA, this step's, or the mean of the last window rows"),
                           choice("form", {"bias", "zip", "code"},
                                  "how the mass is kept: as a logit bias, by the key's length (paper), or not exactly (authors' code)")}},
       .merger = into_nearest_key,
       .bias = Bias::votes,
       .bases = {"window"},
       .own_keys = {"alpha", "refresh"}});
  // bases of other rows only
  rows.push_back({.info = {.name = "window", .params = {sinks("4"), recent("0.2")}},
                  .ranking = by_weighted_rows,
                  .selection = top,
                  .allocation = uniform,
                  .merger = evict,
                  .listed = false});
  return rows;
}

std::vector<PolicyInfo> make_infos() {
  std::vector<PolicyInfo> infos;
  for (const PolicyRow& row : policy_rows()) {
    if (!row.listed) continue;
    infos.push_back(row.info);
    infos.back().params = resolve_row(row, row.bases.empty() ? std::string_view{} : row.bases.front()).params;
    if (row.info.statistic.empty())
      std::erase_if(infos.back().params, [](const ParamInfo& p) { return p.key == "group"; });  // without effect there
  }
  return infos;
}

}  // namespace

ParamInfo group_param() {
  return choice("group", {"mean", "max", "sum"}, "how the query heads that share a KV head become one attention row");
}

std::span<const PolicyRow> policy_rows() {
  static const std::vector<PolicyRow> rows = make_rows();
  return rows;
}

const PolicyRow& find_row(std::string_view name, bool with_bases) {
  for (const PolicyRow& row : policy_rows())
    if (row.info.name == name && (row.listed || with_bases)) return row;
  std::vector<std::string> known;
  for (const PolicyInfo& info : policies()) known.push_back(info.name);
  throw UsageError(fmt::format("unknown policy {}; known: {}", quoted(name), fmt::join(known, " ")));
}

std::span<const PolicyInfo> policies() {
  static const std::vector<PolicyInfo> infos = make_infos();
  return infos;
}

const std::string& reference_policy() {
  static const std::string name = [] {
    const auto unlimited_row = std::ranges::find_if(policy_rows(), [](const PolicyRow& row) { return row.listed && !row.has_budget; });
    return unlimited_row->info.name;
  }();
  return name;
}

const PolicyInfo& find_policy(std::string_view name) {
  for (const PolicyInfo& info : policies())
    if (info.name == name) return info;
  find_row(name);  // throws, naming the known ones
  KVSCOPE_ASSERT(false);
}

}  // namespace kvscope
