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

}  // namespace kvscope::cli
