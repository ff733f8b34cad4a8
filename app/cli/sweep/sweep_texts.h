// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/cli/arguments.h"
#include "arch/model_files.h"
#include "runtime/session/run_request.h"
#include "snapshot/snapshot.h"

namespace kvscope::cli {

/// What a sweep runs every policy on.
struct SweepText {
  int number = 1;      // its line in the file of texts
  RunRequest request;  // without lanes and seed
  int n_question = 0;  // tokens at the end of its prompt, of --question
  std::vector<std::string> answers = {};
  bool any_answer = false;              // one of them is enough
  double depth = kNotAvailable;         // SweepContents::Text
  std::string notice = {};              // that the model's positions end it early (DecodeLength); of texts with answers that is refused
  std::vector<int> answer_tokens = {};  // positions of the answers in the prompt; none: not each of them stands in one place of it

  /// SHA-256 of what is read and what is looked for, 64 digits.
  std::string hash(const ModelFiles& model) const;
};

/// The texts of --texts, those of --hidden-numbers, else the one prompt. A line of the file is an object in RULER's columns: `context`,
/// `question`, `answer` (a text or a list of texts), and perhaps `answer_prefix`, `max_new_tokens`, `task`. The context is the prompt;
/// question and prefix are fed after it, so that a prompt is compressed before the question is known, and then each run goes on by itself.
/// Throws Error, UsageError: file, line, what was expected.
std::vector<SweepText> sweep_texts(const Arguments& arguments, const ModelFiles& model);

/// RULER's string match (Hsieh et al., 2024, arXiv:2404.06654): the share of the answers that stand in what was said, in upper or lower
/// case; with any_answer 1 where one does. n/a without answers.
double answer_score(const SweepText& text, std::string_view said);

}  // namespace kvscope::cli
