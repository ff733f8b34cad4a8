// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "viz/canvas.h"
#include "viz/reduce/slot.h"

namespace kvscope::viz {

/// " (largest error, none selected)" where that is why this head is shown; empty where it was chosen.
std::string choice_text(const HeadPick& pick);

/// Whether the choice of tokens has seen the end of the prompt, and why not; empty: nothing is chosen, or the results do not say it.
/// would_prefilled: the policy sees it where the prompt is not streamed.
std::string question_text(const Snapshot& snapshot, const LaneSnapshot& lane, bool would_prefilled);

/// " · sees the last 512 tokens": of a layer with a window of its own; else empty.
std::string window_text(const Snapshot& snapshot, int layer);

/// " · state of 40 evicted tokens: 3.1% of the attention", of a head that keeps sums of what it evicted; "" of others.
std::string pooled_text(const HeadRecord& head);
/// "attention lost 20.0 %", and where merged slots stand in for tokens: "attention lost to eviction <0.1 %, stood in by merges 60.7 %".
std::string lost_text(const HeadPick& pick);
/// "attention lost 99.9 % · local error 113.5 % · after Wₒ 729 · compression <0.1 %", before it the head's name.
std::string head_facts(const HeadPick& pick);

/// True where queries of the run read some pages only.
bool reads_pages(const LaneSnapshot& lane);
/// category_name() in this run: without a budget nothing is kept because of its rank, what has a slot is "kept", no heavy hitter.
const char* category_word(const LaneSnapshot& lane, Category category);

/// What became of a token in a head: "evicted at step 0", "merged into slot 58 at step 101", "sink, protected", ...
std::string fate_text(const HeadColumns& columns, int token);
/// "restored by hand at step 1, had been evicted at step 0": the last of the earlier fates of the token that ended by `step`; empty: there
/// is none.
std::string restored_text(std::span<const EarlierFate> past, int token, int step);

/// Tooltip of one token of one head: what, values, ranks, context. At most 12 lines.
std::vector<std::string> token_lines(const Snapshot& snapshot, const HeadPick& pick, const HeadColumns& columns, int token);

/// The numbers of one head, one row per token.
Table head_table(const Snapshot& snapshot, const HeadPick& pick);

/// Two scores with as many digits as tell them apart; both alike where they are the same.
std::pair<std::string, std::string> told_apart(double a, double b);

/// "rank 20 of 58 for 10 places", of candidates of a selection: who comes after the last place goes. `against`: this one did not, as
/// against_rank() says, and then so does the text. Not `full`: "rank 20 of 58, 10 stayed", for it was not the places that decided.
std::string rank_of_places(int rank, int n_ranked, int places, bool against, bool full);

/// "slot 58 «·be»"
std::string slot_name(std::span<const TokenInfo> tokens, int pos);

/// "1 vote", "8 votes"
std::string votes_text(int votes);

/// 58 -> "₅₈"
std::string subscript(int number);

/// One numbered thought of the "why" panel.
struct WhyStep {
  enum class Kind { plain, cosines, heads };
  Kind kind = Kind::plain;
  std::string title;
  std::vector<std::string> lines;
  std::vector<std::pair<int, double>> keys;    // cosines: kept slots and how alike their keys are, best first; empty: not recorded
  std::vector<std::vector<std::string>> rows;  // heads: the numbers per query head, first row the column names
};

/// The reasons in order: why it left; where to; how averaged; which bias. Only numbers that the record holds.
std::vector<WhyStep> why_steps(const Snapshot& snapshot, const HeadPick& pick, const Why& why);

/// "slot 56 «·br» (2 votes) merged into slot 58 at step 101"
std::string why_headline(std::span<const TokenInfo> tokens, const Why& why);

/// Value of a row whose measure was not asked for, or not stored.
inline constexpr std::string_view kNotMeasured = "not measured";

/// Label and value of the slot card.
struct CardRow {
  std::string name, value;
};
std::vector<CardRow> slot_card(const Snapshot& snapshot, const HeadPick& pick, const SlotFacts& facts);

}  // namespace kvscope::viz
