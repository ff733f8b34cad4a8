// SPDX-License-Identifier: Apache-2.0
#include "app/window/session/hand/moved_edits.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace kvscope {
namespace {

/// How much two sequences have in common at their beginning, and besides that at their end.
template <class Sequence>
std::pair<std::size_t, std::size_t> common_ends(const Sequence& a, const Sequence& b) {
  const auto front = static_cast<std::size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
  const std::size_t most = std::min(a.size(), b.size()) - front;
  std::size_t back = 0;
  while (back < most && a[a.size() - 1 - back] == b[b.size() - 1 - back]) ++back;
  return {front, back};
}

/// Where a token is now; tokens after the prompt move with its end, if that stays.
std::optional<int> moved(int position, const TextChange& change) {
  if (position < change.front) return position;
  if (change.back > 0 && position >= change.n_before - change.back) return position + change.n_after - change.n_before;
  return std::nullopt;
}

/// now: where a token is; nullopt: nowhere.
MovedEdits edits_where(const LaneEdits& edits, const std::function<std::optional<int>(int)>& now) {
  MovedEdits out{{{}, edits.budgets}, 0};
  for (WhatIf w : edits.what_ifs) {
    const std::vector<int> positions = std::exchange(w.positions, {});
    for (const int position : positions) {
      if (const auto there = now(position))
        w.positions.push_back(*there);
      else
        ++out.n_lost;
    }
    const std::optional<int> into = w.into < 0 ? std::optional(w.into) : now(w.into);
    if (!into) ++out.n_lost;
    if (w.positions.empty() || !into) continue;
    w.into = *into;
    out.edits.what_ifs.push_back(std::move(w));
  }
  return out;
}

}  // namespace

TextChange change_between(const std::vector<int>& before, const std::vector<int>& after) {
  const auto [front, back] = common_ends(before, after);
  return {static_cast<int>(front), static_cast<int>(back), static_cast<int>(before.size()), static_cast<int>(after.size())};
}

ReadPrompt prompt_of(const Snapshot& snapshot) {
  return {snapshot.prompt, {snapshot.tokens.begin(), snapshot.tokens.begin() + snapshot.n_prompt}};
}

TextKept text_kept(std::string_view before, std::string_view after) {
  const auto [front, back] = common_ends(before, after);
  return {front, back};
}

bool TextKept::lost(const ReadPrompt& before, int token) const {
  if (token >= static_cast<int>(before.tokens.size())) return back == 0;
  const TokenInfo& info = before.tokens[static_cast<std::size_t>(token)];
  if (info.text_begin < 0 || info.text_end <= info.text_begin) return false;  // the start token
  return static_cast<std::size_t>(info.text_end) > front && static_cast<std::size_t>(info.text_begin) + back < before.text.size();
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
