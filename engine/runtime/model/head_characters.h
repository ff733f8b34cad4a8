// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "arch/model_files.h"
#include "core/cancel.h"
#include "core/head_characters.h"
#include "runtime/session/session.h"

namespace kvscope {

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
/// too long for the model or does not repeat), Cancelled. `retrieval` stays empty: score_heads measures it on other texts.
HeadCharacters head_characters(ModelFiles model, const SessionOptions& session, std::span<const std::vector<int>> prose,
                               std::span<const RepeatedText> repeated, const HeadCharacterOptions& options, const CancelToken& cancel,
                               const std::function<void(double)>& progress = {});

}  // namespace kvscope
