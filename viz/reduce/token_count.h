// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "snapshot/snapshot.h"

namespace kvscope::viz {

/// One token in all heads of a lane: where it has its own slot, where it lives on merged into another, and where and when it went.
struct TokenCount {
  int kept = 0, merged = 0, evicted = 0, heads = 0;
  int first_lost = -1, last_lost = -1;  // steps of the evictions
  bool operator==(const TokenCount&) const = default;
};

/// Heads that keep it, and those where it is merged: "12 + 3"; "12" where it is merged nowhere, "–" before it was read.
std::string kept_text(const TokenCount& count);
/// "evicted step 88 in 48 of 48 heads", "evicted steps 12–88 in 3 of 48 heads"; empty: in none.
std::string evicted_text(const TokenCount& count);

/// Counts for one lane after the other, frame after frame: the fates of the token asked for last are kept, head beside head. In memory they
/// lie apart, and with 1,024 heads a look at all of them takes as long as a picture may.
class TokenCounts {
 public:
  /// lane: its place in the snapshot.
  TokenCount of(const Snapshot& snapshot, int lane, int step, int token);

 private:
  struct Column {
    std::weak_ptr<const LaneFates> fates;
    int token = -1;
    std::vector<int> left, lost;  // as they are now, of the heads below n_tokens
    std::vector<int> with_past;   // heads to be asked themselves: something of theirs came back by hand
  };
  std::vector<Column> lanes_;
};

}  // namespace kvscope::viz
