// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <QString>

#include "policy/catalog.h"
#include "snapshot/snapshot.h"

namespace kvscope {

/// "token 17 «·cat»", "3 tokens". Here and below `read` is what the run has read (tokens_of).
QString tokenWords(std::span<const TokenInfo> read, const std::vector<int>& positions);
/// "L2 · H1", "all heads of L2", "all heads"
QString headsWords(const HeadChoice& chosen);
/// What was done by hand to a run, for a heading: "«·cat» evicted in all heads · «·mat» pinned in L2 · H1". What is switched off is left
/// out.
QString handWords(std::span<const TokenInfo> read, const LaneEdits& edits);

/// Slots that one of a fork's edits changed (pin: that are there at the last step), of those that it asked for, a token in a head each; 0
/// of 0: its step is not computed.
struct EditDone {
  int done = 0, asked = 0;
};
EditDone doneOf(const LaneSnapshot& fork, const std::vector<WhatIf>& edits, std::size_t which);

/// Edits that are made together: one, or a token that is restored and pinned.
using EditsMade = std::vector<WhatIf>;
/// "Token 17 «·cat» evicted by hand in all heads, after step 3": what is being computed.
QString madeWords(std::span<const TokenInfo> read, const EditsMade& made);
/// "Token 17 «·cat» is no longer pinned in all heads: the policy may take it.", or by which of the run's other edits there, by step, it is
/// gone anyway.
QString unpinnedWords(std::span<const TokenInfo> read, const std::vector<int>& tokens, const HeadChoice& heads,
                      const std::vector<WhatIf>& others);
/// "Without «·cat» in all heads, after step 3: at step 4 the next token becomes «8»; KL 4.50 → 0.02 nats.": what came of it in the run that
/// has them, at the step shown or, where that answers as before, at the first one that does not. Other edits of the run are counted: what
/// came of it came of all. Empty: nothing is known of it.
QString resultWords(const Snapshot& snapshot, const LaneSnapshot& fork, const EditsMade& made, int shown);

}  // namespace kvscope
