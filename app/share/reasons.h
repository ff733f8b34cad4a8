// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "snapshot/snapshot.h"
#include "trace/json_text.h"

namespace kvscope::share {

/// Tokens of a head by how much they are missed: the largest attention that the reference pays to a token in a step in which this cache has
/// lost it. [n_tokens]
using Missed = std::vector<float>;

/// Writes what happened to slots, and why, for at most `most` tokens of every head, those that are missed most: a list for each head of
/// [step, kind (0 evicted, 1 merged, 2 restored), pos, into or -1, card or -1], flat, and the cards in the words of the window's "why"
/// panel: [headline, [title, [lines], [[cells], ...]], ...].
/// missed: by head. Returns true if some were left out.
bool write_reasons(JsonText& json, const Snapshot& snapshot, int lane, const std::vector<Missed>& missed, int most);

}  // namespace kvscope::share
