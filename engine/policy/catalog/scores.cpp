// SPDX-License-Identifier: Apache-2.0
#include "policy/catalog/keys.h"
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
  return rows;
}

}  // namespace kvscope
