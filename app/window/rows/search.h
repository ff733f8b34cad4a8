// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include <QString>

#include "snapshot/snapshot.h"
#include "viz/selection.h"

namespace kvscope {

enum class SearchIn { tokens, heads, events };

struct SearchQuery {
  SearchIn in = SearchIn::tokens;
  QString text;
  bool regex = false;
  bool match_case = false;
};

/// One place that was found, as the parts of a selection that lead there; what is not set stays as it is.
struct SearchHit {
  std::optional<viz::TokenRange> tokens;
  std::optional<int> layer, kv_head, slot, step;
  QString what;  // "«moon» 17", "L2 · H5", "evict 17 «moon» L2 H5 step 41"

  viz::Selection applied(viz::Selection selection) const;
};

struct SearchResult {
  std::vector<SearchHit> hits;
  QString note;           // what was cut; empty: nothing
  bool given_up = false;  // the regular expression takes too many tries: there may be more than was found, or more than nothing
  QString error;          // why nothing could be searched; empty: it was
  int error_at = -1;      // character of the text that the error is about
};

/// Tokens: the text, also across tokens. Heads: "L2", "H5", "L2 H5". Events of the run of the selection (of its head and its range of steps
/// where there are such): all words of "evict token 17 «moon» L2 H5 step 41" or "merge token 12 «the» into 17 «moon» L2 H5 step 40".
/// With `regex` the text is a regular expression over these. At most kSearchHits are returned.
SearchResult searchFor(const SearchQuery& query, const Snapshot& snapshot, const viz::Selection& selection);

inline constexpr int kSearchHits = 10000;

}  // namespace kvscope
