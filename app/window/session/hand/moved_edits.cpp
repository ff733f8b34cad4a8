// SPDX-License-Identifier: Apache-2.0
#include "app/window/session/hand/moved_edits.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "app/window/session/hand/common_ends.h"

namespace kvscope {
namespace {

/// Where a token is now; tokens after the prompt move with its end, if that stays.
std::optional<int> moved(int position, const TextChange& change) {
  if (position < change.front) return position;
  if (change.back > 0 && position >= change.n_before - change.back) return position + change.n_after - change.n_before;
  const int inside = position - change.inner_before;
  return inside >= 0 && inside < change.inner ? std::optional(change.inner_after + inside) : std::nullopt;
}

/// Ends that have less in common are looked through for a text that stands whole in the other.
bool leaves_little(std::size_t front, std::size_t back, std::size_t n_before, std::size_t n_after) {
  return 2 * (front + back) < std::min(n_before, n_after);
}

/// The tokens of the shorter text in the longer one, but for some at its ends, which what stands around may have changed.
void find_inner(const std::vector<int>& before, const std::vector<int>& after, TextChange& out) {
  constexpr int kEnds = 3;
  const bool around = before.size() <= after.size();
  const std::vector<int>&shorter = around ? before : after, &longer = around ? after : before;
  for (int cut = 0; cut <= 2 * kEnds; ++cut)
    for (int from = std::max(0, cut - kEnds); from <= std::min(cut, kEnds); ++from) {
      const int n = static_cast<int>(shorter.size()) - cut;
      if (n < 2) return;
      const auto found = std::search(longer.begin(), longer.end(), shorter.begin() + from, shorter.begin() + from + n);
      if (found == longer.end()) continue;
      const auto there = static_cast<int>(found - longer.begin());
      out.inner = n;
      out.inner_before = around ? from : there;
      out.inner_after = around ? there : from;
      return;
    }
}

/// now: where a token is; nullopt: nowhere.
MovedEdits edits_where(const LaneEdits& edits, const std::function<std::optional<int>(int)>& now) {
  MovedEdits out{{{}, edits.budgets}};
  for (WhatIf w : edits.what_ifs) {
    const std::vector<int> positions = std::exchange(w.positions, {});
    for (const int position : positions) {
      if (const auto there = now(position))
        w.positions.push_back(*there);
      else
        out.lost.insert(position);
    }
    const std::optional<int> into = w.into < 0 ? std::optional(w.into) : now(w.into);
    if (!into) out.lost.insert(w.into);
    if (w.positions.empty() || !into) continue;
    w.into = *into;
    out.edits.what_ifs.push_back(std::move(w));
  }
  return out;
}

}  // namespace

TextChange change_between(const std::vector<int>& before, const std::vector<int>& after) {
  const auto [front, back] = common_ends(before, after);
  TextChange out{static_cast<int>(front), static_cast<int>(back), static_cast<int>(before.size()), static_cast<int>(after.size())};
  if (leaves_little(front, back, before.size(), after.size())) find_inner(before, after, out);
  return out;
}

ReadPrompt prompt_of(const Snapshot& snapshot) {
  return {snapshot.prompt, {snapshot.tokens.begin(), snapshot.tokens.begin() + snapshot.n_prompt}};
}

TextKept text_kept(std::string_view before, std::string_view after) {
  const auto [front, back] = common_ends(before, after);
  TextKept out{front, back};
  if (!leaves_little(front, back, before.size(), after.size())) return out;
  if (after.find(before) != std::string_view::npos) {
    out.inner_end = before.size();
  } else if (const std::size_t at = before.find(after); at != std::string_view::npos && !after.empty()) {
    out.inner_begin = at;
    out.inner_end = at + after.size();
  }
  return out;
}

bool TextKept::lost(const ReadPrompt& before, int token) const {
  if (token >= static_cast<int>(before.tokens.size())) return back == 0;
  const TokenInfo& info = before.tokens[static_cast<std::size_t>(token)];
  if (info.text_begin < 0 || info.text_end <= info.text_begin) return false;  // the start token
  const auto begin = static_cast<std::size_t>(info.text_begin), end = static_cast<std::size_t>(info.text_end);
  if (begin >= inner_begin && end <= inner_end) return false;
  return end > front && begin + back < before.text.size();
}

MovedEdits edits_without(const LaneEdits& edits, const std::function<bool(int)>& lost) {
  return edits_where(edits, [&](int token) { return lost(token) ? std::nullopt : std::optional(token); });
}

MovedEdits moved_edits(const LaneEdits& edits, const TextChange& change, bool stream) {
  MovedEdits out = edits_where(edits, [&](int token) { return moved(token, change); });
  for (WhatIf& w : out.edits.what_ifs)
    if (stream && w.step >= 0) w.step = moved(w.step, change).value_or(change.front);
  return out;
}

}  // namespace kvscope
