// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "policy/text/lane_edits.h"
#include "snapshot/snapshot.h"

namespace kvscope {

/// What an edit of the text did to its tokens: what stands before and behind the change is the same.
struct TextChange {
  int front = 0, back = 0;        // tokens of the prompt that stay, at its beginning and at its end
  int n_before = 0, n_after = 0;  // tokens of the prompt
  // Where a text was put around it, or taken away, as a chat's template is: so many in a row, from which place to which.
  int inner = 0, inner_before = 0, inner_after = 0;
  bool operator==(const TextChange&) const = default;
};

TextChange change_between(const std::vector<int>& before, const std::vector<int>& after);

struct MovedEdits {
  LaneEdits edits;
  std::set<int> lost = {};  // tokens that edits named and that are gone, as the text before counts them
};

/// A prompt as it was read.
struct ReadPrompt {
  std::string text;
  std::vector<TokenInfo> tokens;
};
ReadPrompt prompt_of(const Snapshot& snapshot);

/// How much of a text an edit of it leaves as it was, known before the new one has tokens.
struct TextKept {
  std::size_t front = 0, back = 0;             // bytes at its beginning and at its end
  std::size_t inner_begin = 0, inner_end = 0;  // of it, where it stands whole in the new one, or that whole in it
  /// Some of what the token stands for is there no more; of a token after the prompt: its end is not.
  bool lost(const ReadPrompt& before, int token) const;
};
TextKept text_kept(std::string_view before, std::string_view after);
/// The edits without tokens of which nothing is left.
MovedEdits edits_without(const LaneEdits& edits, const std::function<bool(int)>& lost);

/// The edits about the same tokens in the new text. An edit whose tokens are all gone, or whose target is, goes too. stream: a step is the
/// position of its query, and moves with it; else step 0 is the prompt, whatever its length.
MovedEdits moved_edits(const LaneEdits& edits, const TextChange& change, bool stream);

}  // namespace kvscope
