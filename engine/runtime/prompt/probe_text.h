// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "arch/model_files.h"

namespace kvscope {

/// How a model is asked to repeat its prompt, stretch by stretch (KVzip, arXiv:2505.23416). A model without a tokenizer is asked in no
/// words: a stretch then follows the end of the one before it.
class ProbeText {
 public:
  ProbeText() = default;
  /// In the words of kvpress 0.5.5, which are those of the authors: the beginning of an answer in the model's chat template comes before
  /// the stretch, or a line break where there is no template. Throws Error where the template cannot be read.
  explicit ProbeText(const ModelFiles& model);

  /// First token of the prompt that is repeated: what a chat template says before a user's words is not.
  int start(std::span<const int> prompt) const;
  /// The probe of the stretch [first, end) of a prompt: the question, and the stretch. before: where the stretch before it begins; its own
  /// first token where there is none.
  std::vector<int> tokens(std::span<const int> prompt, int before, int first, int end) const;

 private:
  std::vector<int> opening_, question_, next_question_, answer_;
};

}  // namespace kvscope
