// SPDX-License-Identifier: Apache-2.0
#include "policy/catalog/keys.h"
#include "policy/catalog/parts.h"
#include "policy/catalog/rows.h"

namespace kvscope {

std::vector<PolicyRow> keepkv_rows() {
  std::vector<PolicyRow> rows;
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
                .params = {choice("base", {"window", "h2o", "snapkv", "pyramidinfer"}, "whose ranking, protection and budgets are used"),
                           window("32", "last queries that rank the tokens and start the EMA", 1),
                           number("threshold", "0.8", -2, 2, "cosine of the keys from which tokens merge (above 1: never)"),
                           number("alpha", "0.9", 0, 0.999999, "weight of the past in the EMA of the scores"),
                           choice("predict", {"ema", "current", "window"},
                                  "predicted score: EMA, this step's, or the mean of the last window rows"),
                           choice("form", {"bias", "zip", "code"},
                                  "how the mass is kept: as a logit bias, by the key's length (paper), or not exactly (authors' code)"),
                           reload()}},
       .merger = into_nearest_key,
       .bias = Bias::votes,
       .bases = {"window", "h2o", "snapkv", "pyramidinfer"},
       .own_keys = {"alpha", "refresh", "reload"},
       .head_keys = {"threshold"}});
  rows.push_back({.info = {.name = "window", .params = {sinks("4"), recent("0.2")}},
                  .ranking = by_weighted_rows,
                  .selection = top,
                  .allocation = uniform,
                  .merger = evict,
                  .listed = false});
  return rows;
}

}  // namespace kvscope
