// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/dtype.h"
#include "policy/lane_spec.h"
#include "policy/prompt_mode.h"
#include "snapshot/measure_set.h"

namespace kvscope {

struct Snapshot;

/// The value whose name this is; `names` in the order of the values.
template <class Value, std::size_t N>
constexpr std::optional<Value> value_named(const std::array<std::string_view, N>& names, std::string_view name) {
  const auto found = std::ranges::find(names, name);
  return found == names.end() ? std::nullopt : std::optional(static_cast<Value>(found - names.begin()));
}

/// Whose tokens all lanes are fed after the prompt.
enum class Follow : std::uint8_t { reference, self, file };
/// Its names in traces, sessions and snapshots, in the order of the values.
inline constexpr std::array<std::string_view, 3> kFollowNames = {"reference", "self", "file"};
constexpr std::string_view name_of(Follow follow) { return kFollowNames[static_cast<std::size_t>(follow)]; }
constexpr std::optional<Follow> follow_of(std::string_view name) { return value_named<Follow>(kFollowNames, name); }

/// What a prompt's text is.
enum class PromptText : std::uint8_t {
  plain,  // names of special tokens are the text that they look like; the start token is put before it
  names,  // they are tokens; the start token is put before it
  chat,   // what a chat template writes: names are tokens but in a person's words, and nothing is put before, because it begins the text
  begun   // names are tokens, in such words too, and nothing is put before
};
/// Its names in sessions, in the order of the values.
inline constexpr std::array<std::string_view, 4> kPromptTextNames = {"plain", "names", "chat", "begun"};
constexpr std::string_view name_of(PromptText text) { return kPromptTextNames[static_cast<std::size_t>(text)]; }
constexpr std::optional<PromptText> prompt_text_of(std::string_view name) { return value_named<PromptText>(kPromptTextNames, name); }

enum class Detail : std::uint8_t { summary, events, slots, why };

/// The whole state a user wants. A session finds out what has to be computed again; a newer request replaces an older one.
struct RunRequest {
  std::string prompt;
  PromptText prompt_text = PromptText::plain;
  std::string chat_arguments = "{}";  // prompt_text=chat: what the template was given beside the messages, an object of JSON
  std::vector<int> prompt_ids;        // used instead of the text when not empty (nothing is put before)
  std::vector<LaneSpec> lanes;        // `full` is put first when missing
  PromptMode mode = PromptMode::prefill;
  Follow follow = Follow::reference;
  std::vector<int> follow_ids;  // follow=file: tokens after the prompt
  std::vector<int> given_ids;   // follow=reference, self: the first tokens after the prompt, of all lanes; part of n_generate
  int n_generate = 0;           // tokens after the prompt (follow=file: at most so many of follow_ids; -1: all)
  bool ignore_end = false;  // go on where the texts of all runs have ended (ModelFiles::end_ids); a given text is always read to its end
  double temperature = 0;   // 0: greedy, ties to the lowest id
  std::uint64_t seed = 0;
  Detail detail = Detail::why;  // what the records hold
  int n_logits = 5;             // of every step the highest so many go into the record; steps that stay from the request before keep theirs
  bool history = true;          // keep the uncompressed history (local figures, edits in mid-text)
  MeasureSet measures = {};     // of POLICIES.md section 6

  bool operator==(const RunRequest&) const = default;
};

/// What answers `before` answers `after` as far as it goes: more tokens and other records are asked for, no other steps.
inline bool goes_on_from(const RunRequest& before, RunRequest after) {
  after.n_generate = before.n_generate;
  after.detail = before.detail;
  after.n_logits = before.n_logits;
  after.measures = before.measures;
  return after == before;
}

/// What the prompt of a result was, told by its tokens: names of special tokens that stand in the text, and what is before them.
PromptText prompt_text_of(const Snapshot& result);

}  // namespace kvscope
