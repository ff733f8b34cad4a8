// SPDX-License-Identifier: Apache-2.0
#include "policy/catalog/keys.h"
#include "policy/catalog/rows.h"
#include "policy/mergers/weighted_neighbour.h"

namespace kvscope {
namespace {

constexpr auto by_mean = plain<MeanRanking, Ranking>;
std::unique_ptr<Selection> one_by_one(const PartSetup&) { return std::make_unique<TopSelection>(RemovalOrder::lowest_first); }
std::unique_ptr<Merger> into_neighbour(const PartSetup& s) {
  if (s.params.text("merge") == "off") return std::make_unique<NoMerger>();
  return std::make_unique<WeightedNeighbourMerger>();
}

}  // namespace

std::vector<PolicyRow> merging_rows() {
  std::vector<PolicyRow> rows;
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
  return rows;
}

}  // namespace kvscope
