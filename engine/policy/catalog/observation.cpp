// SPDX-License-Identifier: Apache-2.0
#include "policy/catalog/keys.h"
#include "policy/catalog/preset.h"
#include "policy/catalog/rows.h"

namespace kvscope {

std::vector<PolicyRow> observation_rows() {
  const std::string pooled =
      "mean attention of the last queries, pooled over neighbouring tokens; of equal scores, which max pooling makes, the lower positions stay";
  std::vector<PolicyRow> rows;
  rows.push_back(preset({.name = "snapkv",
                         .title = "SnapKV",
                         .paper = "SnapKV: LLM Knows What You are Looking for Before Generation, arXiv:2404.14469",
                         .idea = "The last queries of the prompt tell which earlier tokens matter: compresses once, after the prompt.",
                         .ranking = pooled},
                        "stat=pooled", "sinks=0 window kernel pool whole_window refresh"));
  rows.push_back(preset({.name = "finch",
                         .title = "FINCH",
                         .paper = "FINCH: Prompt-guided Key-Value Cache Compression for Large Language Models, TACL 2024",
                         .idea = "What the question at the end of the prompt attends to stays, and moves together."},
                        "stat=question", "sinks=0 window norm positions refresh",
                        {choice("positions", {"cache", "original"},
                                "position of a kept key: its index in the cache (as published), or its place in the text")}));
  rows.push_back(preset({.name = "pyramidkv",
                         .title = "PyramidKV",
                         .paper = "PyramidKV: Dynamic KV Cache Compression based on Pyramidal Information Funneling, arXiv:2406.02069",
                         .idea = "SnapKV with larger budgets in lower layers, where attention is spread widely.",
                         .ranking = pooled},
                        "stat=pooled,alloc=pyramid", "sinks=0 window kernel pool whole_window refresh beta split",
                        {number("beta", "20", 1, 1e6, "how steep: the last layer gets 1/beta of the mean (beside the window)")}));
  rows.push_back(preset({.name = "adakv",
                         .title = "Ada-KV",
                         .paper = "Ada-KV: Optimizing KV Cache Eviction by Adaptive Budget Allocation, arXiv:2407.11550",
                         .idea = "SnapKV whose heads share one budget per layer: heads with more high scores keep more.",
                         .ranking = pooled},
                        "stat=pooled,alloc=ada", "sinks=0 window kernel pool whole_window refresh alpha<ada_alpha safeguard"));
  rows.push_back(preset({.name = "headkv",
                         .title = "HeadKV",
                         .paper = "HeadKV: Not All Heads Matter, arXiv:2410.19258",
                         .idea = "SnapKV with budgets by how important each head is for retrieval and reasoning.",
                         .ranking = pooled},
                        "stat=pooled,alloc=head", "sinks=0 window kernel pool whole_window refresh beta<head_beta scores"));
  rows.push_back(preset({.name = "criticalkv",
                         .title = "CriticalKV",
                         .paper = "Identify Critical KV Cache in LLM Inference from an Output Perturbation Perspective, arXiv:2502.03805",
                         .idea = "How much an output changes depends on the size of the projected value, too.",
                         .ranking = "half by attention, the rest by attention times the norm of the projected value"},
                        "stat=pooled,reweight=critical", "base alpha eps first_of",
                        {choice("base", {"snapkv", "adakv", "headkv"}, "whose scores and budgets are used"),
                         number("alpha", "0.5", 0, 1, "share that is chosen by attention alone"),
                         number("eps", "1e-4", 0, 1, "added to the attention before it meets the norm")}));
  rows.back().bases = {"snapkv", "adakv", "headkv"};
  rows.back().renamed_keys = {{"alpha", "base_alpha"}};
  return rows;
}

}  // namespace kvscope
