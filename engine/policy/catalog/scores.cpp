// SPDX-License-Identifier: Apache-2.0
#include "policy/catalog/keys.h"
#include "policy/catalog/parts.h"
#include "policy/catalog/rows.h"

namespace kvscope {

std::vector<PolicyRow> score_rows() {
  std::vector<PolicyRow> rows;
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
      {.info = {.name = "scissorhands",
                .title = "Scissorhands",
                .paper = "Scissorhands: Exploiting the Persistence of Importance Hypothesis, arXiv:2305.17118",
                .idea = "What was important stays important: keeps tokens that often got more than an equal share.",
                .ranking = "how often among the last queries the attention was at least 1/n; equal ones by accumulated attention",
                .merging = std::string(kEvicted),
                .statistic = "queries above an equal share",
                .params = {sinks("0"), recent("10"), window("400", "last queries that count", 1),
                           share_or_count("drop", "1", "tokens that go at once when the budget is exceeded", 1), group_of_hits()}},
       .ranking = by_hits,
       .selection = top,
       .allocation = uniform,
       .merger = evict,
       .takes_group = false});
  rows.push_back(
      {.info = {.name = "roco",
                .title = "RoCo",
                .paper =
                    "On the Efficacy of Eviction Policy for Key-Value Constrained Generative Language Model Inference, arXiv:2402.06262",
                .idea = "Removes what is little attended on average, but spares tokens whose attention varies most.",
                .ranking = "mean attention; the tokens with the largest standard deviation are kept besides",
                .merging = std::string(kEvicted),
                .statistic = "mean attention",
                .params = {sinks("0"), recent("10"),
                           share_or_count("spread", "0.3", "slots kept because their attention varies most (0.3 = of the budget)")}},
       .ranking = by_steady_mean,
       .selection = top,
       .allocation = uniform,
       .merger = evict});
  rows.push_back({.info = {.name = "tova",
                           .title = "TOVA",
                           .paper = "Transformers are Multi-State RNNs, arXiv:2401.06104",
                           .idea = "Removes what the current query attends to least; one decision for all heads of a layer.",
                           .ranking = "attention of this step, mean over all query heads of the layer",
                           .merging = std::string(kEvicted),
                           .statistic = "attention of this step",
                           .sees_question_in_prefill = true,
                           .params = {sinks("0"), recent("0")}},
                  .ranking = by_last_row,
                  .selection = top,
                  .allocation = uniform,
                  .merger = evict,
                  .takes_group = false,
                  .whole_layer = true});
  rows.push_back(
      {.info =
           {.name = "pyramidinfer",
            .title = "PyramidInfer",
            .paper = "PyramidInfer: Pyramid KV Cache Compression for High-throughput LLM Inference",
            .idea =
                "Deeper layers need fewer tokens: budgets fall with the layer, one decision for all heads of a layer. (Cache form: hidden "
                "states of the prompt are not dropped.)",
            .ranking = "mean attention of the recent tokens' queries over the whole layer, newer ones count more",
            .merging = std::string(kEvicted),
            .statistic = "attention of the recent queries",
            .sees_question_in_prefill = true,
            .params = {sinks("4"), recent("0.2"),
                       number("decay", "0.9", 0, 1, "how slowly the budget falls with the layer (1: not at all)")}},
       .ranking = by_recent_rows,
       .selection = top,
       .allocation = decaying,
       .merger = evict,
       .takes_group = false,
       .whole_layer = true});
  return rows;
}

}  // namespace kvscope
