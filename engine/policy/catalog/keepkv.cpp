// SPDX-License-Identifier: Apache-2.0
#include "policy/catalog/keys.h"
#include "policy/catalog/preset.h"
#include "policy/catalog/rows.h"

namespace kvscope {

std::vector<PolicyRow> keepkv_rows() {
  std::vector<PolicyRow> rows;
  rows.push_back(preset(
      {.name = "keepkv",
       .title = "KeepKV",
       .paper = "KeepKV, arXiv:2504.09936",
       .idea = "Merges what it removes into the most similar key and counts votes, so that the output of the step stays what it was."},
      "stat=window,merge=keepkv", "base window threshold alpha predict form reload",
      {choice("base", {"window", "h2o", "snapkv", "pyramidinfer"}, "whose ranking, protection and budgets are used"),
       window("32", "last queries that rank the tokens and start the EMA", 1),
       number("alpha", "0.9", 0, 0.999999, "weight of the past in the EMA of the scores"), reload()}));
  rows.back().bases = {"window", "h2o", "snapkv", "pyramidinfer"};
  rows.back().own_keys = {"alpha", "refresh", "reload"};
  rows.push_back(preset({.name = "window"}, "stat=window", "sinks recent=0.2"));
  rows.back().listed = false;
  return rows;
}

}  // namespace kvscope
