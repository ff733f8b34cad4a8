// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace kvscope::cli {

/// A text of prose in which one fact is hidden and asked for at the end.
struct NeedleText {
  std::string context;   // prose, the fact, prose
  std::string question;  // goes on from there
  std::string answer;    // what follows, as it stands in the fact
};

/// Sentences of a text, without the line breaks around them.
std::vector<std::string> sentences_of(const std::string& text);

/// Hides a house number among sentences, at the relative depth (0: first, 1: last before the question). The same for the same seed.
NeedleText hide_number(const std::vector<std::string>& sentences, double depth, std::uint64_t seed);

/// One text as a command asked it: what `--out-texts` writes, so that somebody else's program can ask the same.
struct AskedText {
  NeedleText text;
  double depth = 0;
  std::uint64_t seed = 0;
  std::vector<int> prompt_ids, follow_ids;  // as fed; follow_ids ends with the answer
  int n_answer = 0;                         // last tokens of follow_ids
};

/// JSON, schema kvscope.texts/1.
std::string asked_texts_json(const std::string& model, const std::vector<AskedText>& texts);

}  // namespace kvscope::cli
