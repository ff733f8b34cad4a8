// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>

#include "core/error.h"

namespace kvscope {

/// What an option says of a text that is to be computed.
enum Says : unsigned {
  kSaysPrompt = 1,    // which text
  kSaysText = 2,      // what of the text is more than words
  kSaysRuns = 4,      // which runs
  kSaysMode = 8,      // how they read it
  kSaysFollow = 16,   // what they are fed after it
  kSaysSeed = 32,     // what chance gives them
  kSaysLength = 64,   // how far they go on
  kSaysModel = 128,   // by which model
  kSaysMachine = 256  // on what, in which numbers, and what is kept of it
};
inline constexpr unsigned kSaysHow = kSaysMode | kSaysFollow | kSaysSeed;
inline constexpr unsigned kSaysAll = kSaysPrompt | kSaysText | kSaysRuns | kSaysHow | kSaysLength | kSaysModel | kSaysMachine;

/// Options of kvscope-cli and of kvscope that a file may say itself: given beside it they would be left out without a word.
struct RunOption {
  std::string_view name;
  Says says;
};
inline constexpr RunOption kRunOptions[] = {
    {"--prompt", kSaysPrompt},     {"--prompt-file", kSaysPrompt}, {"--prompt-ids", kSaysPrompt},   {"--tokens-file", kSaysPrompt},
    {"--session", kSaysPrompt},    {"--kept", kSaysPrompt},        {"--question", kSaysText},       {"--chat", kSaysText},
    {"--system", kSaysText},       {"--chat-arg", kSaysText},      {"--special-tokens", kSaysText}, {"--no-start-token", kSaysText},
    {"--lane", kSaysRuns},         {"--budget", kSaysRuns},        {"--what-if", kSaysRuns},        {"--prompt-mode", kSaysMode},
    {"--follow", kSaysFollow},     {"--temperature", kSaysFollow}, {"--seed", kSaysSeed},           {"--generate", kSaysLength},
    {"--ignore-eos", kSaysLength}, {"--model", kSaysModel},        {"--device", kSaysMachine},      {"--precision", kSaysMachine},
    {"--threads", kSaysMachine},   {"--memory", kSaysMachine}};

/// Why nothing may say it once more.
inline constexpr std::string_view kStoredRun = "a stored run is given alone", kSessionSays = "a session says itself what is run",
                                  kKeptSays = "kept tokens say themselves what is run", kLessonSays = "the lesson says it itself";

/// `given`: names of options.
inline bool is_given(const std::vector<std::string>& given, std::string_view name) { return std::ranges::find(given, name) != given.end(); }

/// Throws UsageError for the first of the `given` options, by their names, that says what the file says: all of `said`. `file_option`: the
/// one that names the file.
inline void refuse_beside(const std::vector<std::string>& given, unsigned said, std::string_view file, std::string_view why,
                          std::string_view file_option = {}) {
  for (const auto& [name, says] : kRunOptions)
    if ((said & says) != 0 && name != file_option && is_given(given, name))
      throw UsageError(fmt::format("unexpected '{}' beside {}: {}", name, file, why));
}

}  // namespace kvscope
