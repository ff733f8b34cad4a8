// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "viz/reduce/head.h"

namespace kvscope::viz {

// What the lecture shows and says, computed from the snapshot: the same numbers as in the other layouts, fewer of them.

/// One number or word that a caption may name.
struct Fact {
  std::string text;               // as printed
  double number = kNotAvailable;  // for "is it there?" and for one or many; NaN: a word, which is there where it is not empty
};
using Facts = std::map<std::string, Fact, std::less<>>;

/// Slots of the heads after a step, tokens of the answer included: what a budget that was asked for has come to.
struct HeldSlots {
  double mean = kNotAvailable;
  int fewest = 0, most = 0;
  bool alike() const { return fewest == most; }
};
HeldSlots held_slots(const StepRecord& step);

/// Everything that captions may name at the selected lane, step and head. The same names for every snapshot; without a run they are empty.
Facts lecture_facts(const Snapshot& snapshot, const Selection& selection);

/// True where the fact is a number other than 0, or a word. An unknown name is false; "!name" turns it round.
bool holds(const Facts& facts, std::string_view name);

/// Puts facts into a text: {name} as printed, {name|token|tokens} the number with the fitting word. An unknown name stays as it is written.
std::string fill_in(std::string_view text, const Facts& facts);

/// One line of a pair of bars: a token, or all that a scene is about, with two shares, 0..1.
struct PairRow {
  enum class State : std::uint8_t { here, gone, merged };
  std::string label;
  double reference = kNotAvailable, lane = kNotAvailable;
  State state = State::here;  // of the token in the lane's cache
  bool reference_first = false, lane_first = false;
  int votes = 0;       // of its slot in the lane; below 2: it speaks for no other token
  bool whole = false;  // the sum of what the scene is about
  bool meant = false;  // the token that is framed in the other pictures
};

/// Where the head of `pick` looks: the `n` tokens that get most of the attention, with every token in place or in the lane's cache. A slot
/// that speaks for several counts for all of them, on both sides; those that live on in it have no row unless one is meant. Tokens whose
/// text stands there more than once have their position behind it. `also`: a token that is meant; it takes the last place where it gets a
/// share worth speaking of. `about`: the category of which a scene speaks; the first row is then the sum that its caption names, of all
/// tokens of the category, or of those that live on in the slot that tells most of merging. Empty where attention was not captured.
std::vector<PairRow> attention_pairs(const Snapshot& snapshot, const HeadPick& pick, int n, const std::optional<int>& also = {},
                                     const std::optional<Category>& about = {});

/// The first `n` candidates of the step.
std::vector<PairRow> next_token_pairs(const Snapshot& snapshot, const LaneSnapshot& lane, int step, int n);

/// A slot that speaks for tokens of the head: the one with most whose text is its own, then with most votes. What is merged into the very
/// first token tells least of why.
struct MergedSlot {
  int slot = -1;    // -1: nothing is merged
  int member = -1;  // the nearest token that lives on in it, of the same text where there is one
  int votes = 0;
  int alike = 0;     // tokens of its own text
  int n_merged = 0;  // of the head: tokens that live on in any slot
};
MergedSlot telling_merge(const Snapshot& snapshot, const HeadPick& pick);

/// Where a lane misses most what it has given away: among the steps after the prompt, those with a changed choice first.
struct Loss {
  int step = -1;  // -1: nothing is missed
  int layer = -1, kv_head = -1;
  int token = -1;
  double attention = 0;  // that the head would pay to it
  int slot = -1;         // the one it was merged into; -1: no slot stands for it
};
Loss largest_loss(const Snapshot& snapshot, const LaneSnapshot& lane);
/// The same of one step, whatever was done by hand. `heads`: only these, layer * n_kv_heads + kv_head; empty: all.
Loss largest_loss_at(const Snapshot& snapshot, const LaneSnapshot& lane, int step, std::span<const int> heads = {});
/// As largest_loss_at, and tokens that another slot stands for count, too: by the attention that the head would pay to them, times how far
/// its output moved (local error, at most 1), as what a merge gives back is not known for one token.
Loss largest_change_at(const Snapshot& snapshot, const LaneSnapshot& lane, int step, std::span<const int> heads = {});
/// 1 for each of the first n_tokens whose slot was evicted by hand in at least one head.
std::vector<char> evicted_by_hand(const LaneSnapshot& lane, int n_tokens);

}  // namespace kvscope::viz
