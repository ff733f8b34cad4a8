// SPDX-License-Identifier: Apache-2.0
#include "policy/catalog/keys.h"
#include "policy/catalog/rows.h"

namespace kvscope {
namespace {

using Kind = ParamInfo::Kind;

std::unique_ptr<Ranking> by_pooled_window(const PartSetup& s) {
  const Pool pool = s.params.text("pool") == "avg" ? Pool::avg : Pool::max;
  return std::make_unique<PooledWindowRanking>(s.observed, s.params.count("kernel", s.slots), pool);
}

}  // namespace

std::vector<PolicyRow> observation_rows() {
  std::vector<PolicyRow> rows;
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
  return rows;
}

}  // namespace kvscope
