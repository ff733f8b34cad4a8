// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "arch/model_files.h"
#include "core/cancel.h"
#include "runtime/session.h"

namespace kvscope {

/// What query heads habitually look at, with the full cache. All [n_layers, n_heads], means over all queries that count.
struct HeadCharacters {
  int n_layers = 0, n_heads = 0;
  std::vector<double> sink;       // share of the attention on the first tokens
  std::vector<double> local;      // share on the newest tokens, the query's own included
  std::vector<double> previous;   // on the token before the query's
  std::vector<double> entropy;    // of the attention, nats; e^entropy is the number of tokens that it amounts to
  std::vector<double> induction;  // in a text that comes twice: on the token after the query's token in the first copy (Olsson et al. 2022)
};

struct HeadCharacterOptions {
  int sinks = 4;         // first tokens
  int near = 16;         // newest tokens
  int first_query = 64;  // earlier queries have too little to choose from and do not count
};

/// A text of `length` tokens that comes twice. ids: `first` perhaps something, then the tokens, then the same tokens again.
struct RepeatedText {
  std::vector<int> ids;
  int first = 0;
  int length = 0;
};

/// prose: token ids, each longer than first_query. progress: fraction in [0, 1]. Throws Error, UsageError (no text, one that is too short,
/// too long for the model or does not repeat), Cancelled.
HeadCharacters head_characters(ModelFiles model, const SessionOptions& session, std::span<const std::vector<int>> prose,
                               std::span<const RepeatedText> repeated, const HeadCharacterOptions& options, const CancelToken& cancel,
                               const std::function<void(double)>& progress = {});

}  // namespace kvscope
