// SPDX-License-Identifier: Apache-2.0
#include "viz/selection.h"

#include <algorithm>

namespace kvscope::viz {

std::vector<TokenRange> all_tokens(const Selection& selection) {
  std::vector<TokenRange> out = selection.more_tokens;
  if (selection.tokens) out.push_back(*selection.tokens);
  std::sort(out.begin(), out.end(), [](const TokenRange& a, const TokenRange& b) { return a.first < b.first; });
  return out;
}

bool has_token(const Selection& selection, int token) {
  const auto inside = [token](const TokenRange& r) { return token >= r.first && token <= r.last; };
  return (selection.tokens && inside(*selection.tokens)) || std::any_of(selection.more_tokens.begin(), selection.more_tokens.end(), inside);
}

int n_tokens(const Selection& selection) {
  int n = 0;
  for (const TokenRange& r : all_tokens(selection)) n += r.last - r.first + 1;
  return n;
}

void toggle_tokens(Selection& selection, const TokenRange& range) {
  bool all = true;
  for (int t = range.first; t <= range.last && all; ++t) all = has_token(selection, t);
  std::vector<TokenRange> rest;
  TokenRange joined = range;
  for (const TokenRange& r : all_tokens(selection)) {
    if (r.last < range.first || r.first > range.last) {
      rest.push_back(r);
    } else if (all) {  // what stands on both sides of it
      if (r.first < range.first) rest.push_back({r.first, range.first - 1});
      if (r.last > range.last) rest.push_back({range.last + 1, r.last});
    } else {
      joined = {std::min(joined.first, r.first), std::max(joined.last, r.last)};
    }
  }
  if (!all) {
    selection.tokens = joined;
  } else if (rest.empty()) {
    selection.tokens.reset();
  } else {
    selection.tokens = rest.back();
    rest.pop_back();
  }
  selection.more_tokens = std::move(rest);
}

}  // namespace kvscope::viz
