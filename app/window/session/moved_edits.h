// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "policy/text/lane_edits.h"

namespace kvscope {

/// What an edit of the text did to its tokens: what stands before and behind the change is the same.
struct TextChange {
  int front = 0, back = 0;        // tokens of the prompt that stay, at its beginning and at its end
  int n_before = 0, n_after = 0;  // tokens of the prompt
  bool operator==(const TextChange&) const = default;
};

TextChange change_between(const std::vector<int>& before, const std::vector<int>& after);

struct MovedEdits {
  LaneEdits edits;
  int n_lost = 0;  // tokens that edits named and that are gone
};

/// The edits about the same tokens in the new text. An edit whose tokens are all gone, or whose target is, goes too. stream: a step is the
/// position of its query, and moves with it; else step 0 is the prompt, whatever its length.
MovedEdits moved_edits(const LaneEdits& edits, const TextChange& change, bool stream);

}  // namespace kvscope
