// SPDX-License-Identifier: Apache-2.0
#include "policy/catalog/keys.h"
#include "policy/catalog/parts.h"
#include "policy/catalog/rows.h"

namespace kvscope {

std::vector<PolicyRow> position_rows() {
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
  rows.push_back({.info = {.name = "random",
                           .title = "Random",
                           .idea = "Removes tokens by lot; what a policy has to beat.",
                           .ranking = "none: drawn by lot",
                           .merging = std::string(kEvicted),
                           .params = {sinks("0"), recent("0"), seed()}},
                  .ranking = by_nothing,
                  .selection = drawn,
                  .allocation = uniform,
                  .merger = evict});
  rows.push_back(
      {.info = {.name = "knorm",
                .title = "Key norm",
                .paper = "A Simple and Effective L2 Norm-Based Strategy for KV Cache Compression",
                .idea = "Keys of small norm tend to be attended to most: removes the longest keys, without looking at attention.",
                .ranking = "minus the norm of the key, before rotation",
                .merging = std::string(kEvicted),
                .statistic = "minus the key's norm",
                .params = {sinks("0"), recent("0")}},
       .ranking = by_key_norm,
       .selection = top,
       .allocation = uniform,
       .merger = evict,
       .reads_attention = false});
  rows.push_back(
      {.info = {.name = "keydiff",
                .title = "KeyDiff",
                .paper = "after KeyDiff",
                .idea = "Keys that look like all the others tell little apart: removes those, without looking at attention.",
                .ranking = "minus the cosine of the key to the mean of the head's normalised keys (our reading)",
                .merging = std::string(kEvicted),
                .params = {sinks("0"), recent("0")}},
       .ranking = by_key_difference,
       .selection = top,
       .allocation = uniform,
       .merger = evict,
       .reads_attention = false});
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
  rows.push_back(
      {.info = {.name = "lm_infinite",
                .title = "LM-Infinite",
                .paper = "LM-Infinite: Zero-Shot Extreme Length Generalization for Large Language Models, arXiv:2308.16137",
                .idea = "Keeps the first and the newest tokens; the first ones are never seen from farther away than the window is long.",
                .ranking = "position: the first few and the newest stay",
                .merging = std::string(kEvicted),
                .params = {sinks("10"), choice("positions", {"ceiling", "original"},
                                               "distance of the first tokens: at most the window's length (as published), or true")}},
       .ranking = by_position,
       .selection = top,
       .allocation = uniform,
       .merger = evict});
  rows.push_back(
      {.info = {.name = "duo",
                .title = "DuoAttention",
                .paper = "DuoAttention: Efficient Long-Context LLM Inference with Retrieval and Streaming Heads, arXiv:2410.10819",
                .idea = "Some heads look far back and keep everything; the others keep only the first and the newest tokens.",
                .ranking = "position, in the heads that attend least outside the first and the newest tokens",
                .merging = std::string(kEvicted),
                .params = {sinks("4"), recent("0.5"),
                           duo_file(),
                           number("sparsity", "0.5", 0, 1, "share of the heads, lowest scores first, that keep only those tokens")}},
       .ranking = by_position,
       .selection = top,
       .allocation = streaming_heads,
       .merger = evict,
       .default_ratio = "0.5"});
  return rows;
}

}  // namespace kvscope
