// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

namespace kvscope {

/// What query heads habitually look at, with the full cache. All [n_layers, n_heads], shares of the attention as means over all queries
/// that count. The file of a model folder that holds them is heads.json (kvscope-cli heads --out-characters).
struct HeadCharacters {
  int n_layers = 0, n_heads = 0;
  int sink_tokens = 0;            // first tokens that `sink` counts
  int near_tokens = 0;            // newest tokens that `local` counts
  std::vector<double> sink;       // share of the attention on the first tokens
  std::vector<double> local;      // share on the newest tokens, the query's own included
  std::vector<double> previous;   // on the token before the query's
  std::vector<double> entropy;    // of the attention, nats; e^entropy is the number of tokens that it amounts to
  std::vector<double> induction;  // in a text that comes twice: on the token after the query's token in the first copy (Olsson et al. 2022)
  std::vector<double> retrieval;  // on the token that has to be copied next, far back in the text (Wu et al. 2024); empty: not measured
};

}  // namespace kvscope
