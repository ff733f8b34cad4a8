// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/cli/arguments.h"
#include "app/cli/needle_texts.h"
#include "arch/model_files.h"
#include "core/cancel.h"

namespace kvscope::cli {

/// The prose of --text, else the beginning of a novel. Throws Error, UsageError.
std::string prose_of(const Arguments& arguments, const ModelFiles& model, const char* command);

/// Prose that starts at a drawn sentence and makes a prompt of at most `context` tokens, and of no less than 5 % fewer, the last sentence
/// cut where that comes closer. Question and answer fit into the positions that the model was made for, too.
class Haystack {
 public:
  Haystack(const ModelFiles& model, const std::string& text) : model_(model), sentences_(sentences_of(text)) {}

  /// Throws UsageError: the prose is too short, or an answer would be guessed.
  AskedText sample(int context, double depth, std::uint64_t seed, bool question_in_prompt) const;
  /// All that are asked for, by context, depth and sample; the seeds go up from --seed. Throws UsageError, Cancelled.
  std::vector<AskedText> samples(const Arguments& arguments, bool question_in_prompt, const CancelToken& cancel = {}) const;

 private:
  AskedText sample_from(std::size_t start, int context, double depth, std::uint64_t seed, bool question_in_prompt) const;

  const ModelFiles& model_;
  std::vector<std::string> sentences_;
};

}  // namespace kvscope::cli
