// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "viz/reduce/text.h"

namespace kvscope::viz {

/// Neighbours whose keys a step's merger took for alike and made one slot (POLICIES.md section 4): no rank says who is among them.
struct KeySet {
  int into = -1;            // the slot that stands for them; -1: there is no such set
  int n = 0;                // of them, `into` included
  int first = 0, last = 0;  // pos; each key was held against that of `last`
  double threshold = kNotAvailable;
  double score = kNotAvailable;  // of `into`
};

/// The set into which a slot went; by hand, or into another slot's stead for another reason: there is none.
KeySet key_set_of(const HeadPick& pick, const Why& why);

/// Where it went: which set, by which threshold, and who stands for it.
WhyStep key_set_step(std::span<const TokenInfo> tokens, const KeySet& set);

/// What became of a slot that stayed.
struct KeptOfSets {
  KeySet set;            // it stands for this one
  bool by_rank = false;  // without one: nobody with a higher score went or was joined to others; else no neighbour was alike
  double threshold = kNotAvailable;
};
/// nullopt: in this step the head joined no sets. It did where its keys were held against a threshold, and none has a nearest kept key.
std::optional<KeptOfSets> kept_of_sets(const HeadPick& pick, int step, int pos);

/// "of a set of 124 neighbours, cosine of keys > 0.213", for a line with other runs.
std::string key_set_text(const KeySet& set);

}  // namespace kvscope::viz
