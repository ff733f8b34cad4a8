// SPDX-License-Identifier: Apache-2.0
#include "policy/catalog/keys.h"
#include "policy/catalog/parts.h"
#include "policy/catalog/rows.h"

namespace kvscope {
namespace {

/// The keys of every policy that observes the last queries of the prompt, and what others add to them.
std::vector<ParamInfo> observation_keys(std::vector<ParamInfo> more = {}) {
  std::vector<ParamInfo> keys = {sinks("0"), window("32", "last queries observed, their tokens are kept (at most half of the budget)", 0),
                                 kernel(), pool(), refresh()};
  keys.insert(keys.end(), more.begin(), more.end());
  return keys;
}

constexpr const char* kPooled = "mean attention of the last queries, pooled over neighbouring tokens";
constexpr const char* kObserved = "attention of the last queries";

}  // namespace

std::vector<PolicyRow> observation_rows() {
  std::vector<PolicyRow> rows;
  rows.push_back({.info = {.name = "snapkv",
                           .title = "SnapKV",
                           .paper = "SnapKV: LLM Knows What You are Looking for Before Generation, arXiv:2404.14469",
                           .idea = "The last queries of the prompt tell which earlier tokens matter: compresses once, after the prompt.",
                           .ranking = kPooled,
                           .merging = std::string(kEvicted),
                           .statistic = kObserved,
                           .sees_question_in_prefill = true,
                           .params = observation_keys()},
                  .ranking = by_pooled_window,
                  .selection = top,
                  .allocation = uniform,
                  .merger = evict,
                  .cadence = Cadence::once,
                  .observes = true});
  rows.push_back({.info = {.name = "pyramidkv",
                           .title = "PyramidKV",
                           .paper = "PyramidKV: Dynamic KV Cache Compression based on Pyramidal Information Funneling, arXiv:2406.02069",
                           .idea = "SnapKV with larger budgets in lower layers, where attention is spread widely.",
                           .ranking = kPooled,
                           .merging = std::string(kEvicted),
                           .statistic = kObserved,
                           .sees_question_in_prefill = true,
                           .params = observation_keys(
                               {number("beta", "20", 1, 1e6, "how steep: the last layer gets 1/beta of the mean (beside the window)")})},
                  .ranking = by_pooled_window,
                  .selection = top,
                  .allocation = pyramid,
                  .merger = evict,
                  .cadence = Cadence::once,
                  .observes = true});
  rows.push_back(
      {.info = {.name = "adakv",
                .title = "Ada-KV",
                .paper = "Ada-KV: Optimizing KV Cache Eviction by Adaptive Budget Allocation, arXiv:2407.11550",
                .idea = "SnapKV whose heads share one budget per layer: heads with more high scores keep more.",
                .ranking = kPooled,
                .merging = std::string(kEvicted),
                .statistic = kObserved,
                .sees_question_in_prefill = true,
                .params = observation_keys({number("alpha", "0.2", 0, 1, "safeguard: share of the budget that is split evenly")})},
       .ranking = by_pooled_window,
       .selection = top,
       .allocation = adaptive,
       .merger = evict,
       .cadence = Cadence::once,
       .observes = true});
  rows.push_back(
      {.info = {.name = "headkv",
                .title = "HeadKV",
                .paper = "HeadKV: Not All Heads Matter, arXiv:2410.19258",
                .idea = "SnapKV with budgets by how important each head is for retrieval and reasoning.",
                .ranking = kPooled,
                .merging = std::string(kEvicted),
                .statistic = kObserved,
                .sees_question_in_prefill = true,
                .params = observation_keys(
                    {number("beta", "1.5", 1, 1e6, "1/beta of the budget is split by importance"),
                     retrieval_file()})},
       .ranking = by_pooled_window,
       .selection = top,
       .allocation = by_importance,
       .merger = evict,
       .cadence = Cadence::once,
       .observes = true});
  rows.push_back({.info = {.name = "criticalkv",
                           .title = "CriticalKV",
                           .paper = "Identify Critical KV Cache in LLM Inference from an Output Perturbation Perspective",
                           .idea = "Attention alone does not tell how much an output changes: the size of the projected value counts too.",
                           .ranking = "half by attention, the rest by attention times the norm of the projected value",
                           .merging = std::string(kEvicted),
                           .statistic = kObserved,
                           .sees_question_in_prefill = true,
                           .params = {choice("base", {"snapkv", "adakv", "headkv"}, "whose scores and budgets are used"),
                                      number("alpha", "0.5", 0, 1, "share that is chosen by attention alone"),
                                      number("eps", "1e-4", 0, 1, "added to the attention before it meets the norm")}},
                  .selection = two_stages,
                  .merger = evict,
                  .cadence = Cadence::once,
                  .bases = {"snapkv", "adakv", "headkv"},
                  .renamed_keys = {{"alpha", "base_alpha"}}});
  return rows;
}

}  // namespace kvscope
