// SPDX-License-Identifier: Apache-2.0
#include "policy/catalog/keys.h"
#include "policy/catalog/preset.h"
#include "policy/catalog/rows.h"

namespace kvscope {

std::vector<PolicyRow> score_rows() {
  std::vector<PolicyRow> rows;
  rows.push_back(preset({.name = "h2o",
                         .title = "H2O",
                         .paper = "H2O: Heavy-Hitter Oracle, NeurIPS 2023, arXiv:2306.14048",
                         .idea = "Few tokens collect most of the attention: keeps these heavy hitters and the newest tokens."},
                        "stat=sum", "sinks=0 recent"));
  rows.push_back(preset({.name = "scissorhands",
                         .title = "Scissorhands",
                         .paper = "Scissorhands: Exploiting the Persistence of Importance Hypothesis, arXiv:2305.17118",
                         .idea = "What was important stays important: keeps tokens that often got more than an equal share."},
                        "stat=count", "sinks=0 recent=10 window drop group"));
  rows.push_back(
      preset({.name = "roco",
              .title = "RoCo",
              .paper = "On the Efficacy of Eviction Policy for Key-Value Constrained Generative Language Model Inference, arXiv:2402.06262",
              .idea = "Removes what is little attended on average, but spares tokens whose attention varies most.",
              .ranking = "mean attention; the tokens with the largest standard deviation are kept besides"},
             "stat=mean", "sinks=0 recent=10 spread=0.3"));
  rows.push_back(preset({.name = "tova",
                         .title = "TOVA",
                         .paper = "Transformers are Multi-State RNNs, arXiv:2401.06104",
                         .idea = "Removes what the current query attends to least; one decision for all heads of a layer.",
                         .ranking = "attention of this step, mean over all query heads of the layer"},
                        "stat=last,unit=layer", "sinks=0 recent=0"));
  rows.push_back(preset({.name = "pyramidinfer",
                         .title = "PyramidInfer",
                         .paper = "PyramidInfer: Pyramid KV Cache Compression for High-throughput LLM Inference, arXiv:2405.12532",
                         .idea = "Deeper layers need fewer tokens: budgets fall with the layer, one decision for all heads of a layer.",
                         .ranking = "mean attention of the recent tokens' queries over the whole layer, newer ones count more"},
                        "stat=recent,unit=layer,alloc=decay", "sinks recent=0.2 decay"));
  return rows;
}

}  // namespace kvscope
