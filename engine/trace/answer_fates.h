// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "snapshot/snapshot.h"

namespace kvscope {

/// What had become of the tokens of a text's answers in every head of a run, where the answers stand in the prompt.
struct AnswerFates {
  int n_tokens = 0;  // of the answers; 0: nothing is known
  int n_layers = 0, n_kv_heads = 0;
  /// By head, layer-major: how many tokens have a slot of their own, and for how many only another one's stands. The others are gone.
  struct Moment {
    std::vector<std::uint16_t> kept, merged;
    bool operator==(const Moment&) const = default;
  };
  Moment after_prompt, at_end;  // once the whole prompt was compressed; after the last step

  bool known() const { return n_tokens > 0; }
  std::size_t n_heads() const { return static_cast<std::size_t>(n_layers) * static_cast<std::size_t>(n_kv_heads); }
  bool operator==(const AnswerFates&) const = default;
};

/// tokens: positions of the answers in the prompt; none: nothing is known.
AnswerFates answer_fates(const Snapshot& snapshot, const LaneSnapshot& lane, std::span<const int> tokens);

}  // namespace kvscope
