// SPDX-License-Identifier: Apache-2.0
#include "policy/catalog/keys.h"
#include "policy/catalog/parts.h"
#include "policy/catalog/preset.h"
#include "policy/catalog/rows.h"

namespace kvscope {
namespace {

/// The reference of every other row: no parts are chosen, nothing is ever removed.
PolicyRow reference_row() {
  return {.info = {.name = "full",
                   .title = "Full cache",
                   .idea = "Keeps every token; the reference that every other policy is measured against.",
                   .ranking = "none",
                   .merging = "none: nothing is removed"},
          .ranking = by_position,
          .selection = top,
          .allocation = unlimited,
          .merger = evict,
          .has_budget = false};
}

}  // namespace

std::vector<PolicyRow> position_rows() {
  std::vector<PolicyRow> rows;
  rows.push_back(reference_row());
  rows.push_back(
      preset({.name = "local", .title = "Local window", .idea = "Keeps the newest tokens and forgets the rest."}, "stat=none", "sinks=0"));
  rows.push_back(preset({.name = "random", .title = "Random", .idea = "Removes tokens at random: the baseline that a policy has to beat."},
                        "select=random", "sinks=0 recent=0 seed", {recent("0")}));
  rows.push_back(preset({.name = "knorm",
                         .title = "Key norm",
                         .paper = "A Simple and Effective L2 Norm-Based Strategy for KV Cache Compression, arXiv:2406.11430",
                         .idea = "Keys of small norm tend to draw attention: removes those of largest norm."},
                        "stat=knorm", "sinks=0 recent=0"));
  rows.push_back(preset({.name = "keydiff",
                         .title = "KeyDiff",
                         .paper = "KeyDiff: Key Similarity-Based KV Cache Eviction, arXiv:2504.15364",
                         .idea = "Removes keys that resemble the average key, without looking at attention.",
                         .ranking = "minus the cosine of the key to the mean of the head's normalised keys (our reading)"},
                        "stat=keydiff", "sinks=0 recent=0"));
  rows.push_back(preset(
      {.name = "streaming",
       .title = "StreamingLLM",
       .paper = "Efficient Streaming Language Models with Attention Sinks, arXiv:2309.17453",
       .idea = "The first tokens soak up attention that has nowhere to go: keeps them beside the newest ones.",
       .ranking = "position: the first few and the newest stay"},
      "stat=none", "sinks positions",
      {choice("positions", {"cache", "original"}, "position of a key: its index in the cache (as published), or its place in the text")}));
  rows.push_back(preset(
      {.name = "lm_infinite",
       .title = "LM-Infinite",
       .paper = "LM-Infinite: Zero-Shot Extreme Length Generalization for Large Language Models, arXiv:2308.16137",
       .idea = "Keeps the first and the newest tokens, the first never seen from farther away than the window is long.",
       .ranking = "position: the first few and the newest stay"},
      "positions=ceiling", "sinks=10 positions",
      {choice("positions", {"ceiling", "original"}, "distance of the first tokens: at most the window's length (as published), or true")}));
  rows.push_back(preset({.name = "duo",
                         .title = "DuoAttention",
                         .paper = "DuoAttention: Efficient Long-Context LLM Inference with Retrieval and Streaming Heads, arXiv:2410.10819",
                         .idea = "Some heads look far back and keep everything; the others keep only the first and the newest tokens.",
                         .ranking = "position, in the heads that attend least outside the first and the newest tokens"},
                        "alloc=duo", "sinks recent heads sparsity fly"));
  rows.back().default_ratio = "0.5";
  return rows;
}

}  // namespace kvscope
