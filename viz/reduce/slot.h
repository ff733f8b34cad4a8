// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "viz/reduce/head.h"

namespace kvscope::viz {

/// The slot collects what selections send away, and was in none of this step's.
bool collects(const HeadRecord& head, int pos);

/// Calls candidate(pos, score) for every slot that was ranked in a step's selection, those that went included.
template <typename F>
void for_ranked(const HeadRecord& head, F candidate) {
  for (std::size_t i = 0; i < head.score.size() && i < head.pos.size(); ++i)
    if (std::isfinite(head.score[i]) && !collects(head, head.pos[i])) candidate(head.pos[i], head.score[i]);
  for (const Event& event : head.events)
    if (event.kind != Event::Kind::restore && std::isfinite(event.score)) candidate(event.pos, event.score);
}

/// Calls visit(step, event) for the events of one head, in order, up to and including `step`.
template <class Visit>
void for_events(const LaneSnapshot& lane, int head, int step, Visit visit) {
  const int last = std::min(step, static_cast<int>(lane.steps.size()) - 1);
  for (int s = 0; s <= last; ++s) {
    const StepPtr& record = lane.steps[static_cast<std::size_t>(s)];
    if (record == nullptr || head < 0 || head >= static_cast<int>(record->heads.size())) continue;
    for (const Event& event : record->heads[static_cast<std::size_t>(head)].events) visit(s, event);
  }
}

/// Slots that a head of the run was allowed; -1: nobody set a budget, what stays is an outcome.
int budget_set(const LaneSnapshot& run, const HeadRecord& head);
/// How many slots a step's compression took from the head.
int n_removed(const HeadRecord& head);

/// Where a slot stands among these.
struct Rank {
  int rank = -1;  // 1: the highest; of equal scores the lower position comes first (POLICIES.md section 2); -1: not ranked
  int n = 0;      // ranked
  double score = kNotAvailable;
};
Rank rank_of(const HeadRecord& head, int pos);

/// The token has a slot of its own in the head, also where only the events say so.
bool has_own_slot(const HeadPick& pick, int token);

/// The slot went in this step's selection although one ranked lower stayed, or stayed although one ranked higher went: the policy looked at
/// more than this score. What was removed by hand does not count.
bool against_rank(const HeadRecord& head, int pos);

/// Of all slots with exactly this score those that stayed are before those that went.
bool lower_of_equals_stayed(const HeadRecord& head, double score);

/// One slot (or the token that had one) after a step.
struct SlotFacts {
  int token = -1;  // asked for
  int pos = -1;    // slot that stands for it now; -1: none
  int votes = 0;
  std::vector<int> members;      // tokens the slot stands for, ascending; the slot's own pos included
  double score = kNotAvailable;  // ranking score; NaN: not ranked
  int rank = -1;                 // rank_of()
  int n_ranked = 0;
  double statistic = kNotAvailable;
  double attention = kNotAvailable;
  double bias = kNotAvailable;  // logit bias; NaN without a slot
  int born = -1;                // step
  int last_merge = -1;          // step of the last merge into the slot; -1: never
  Removal removal;              // of the token's own slot
  int evicted = -1;             // step at which the slot that stood for the token was evicted; -1: it was not
};

/// pick.values must not be null; token within the step's positions, else the facts are empty (token -1).
SlotFacts slot_facts(const HeadPick& pick, int token);
/// `removal`: removals_until() of the pick, where it is at hand.
SlotFacts slot_facts(const HeadPick& pick, int token, std::span<const Removal> removal);

/// Life of one member's own slot up to the merge that ended it.
struct LineageLine {
  int token = -1;
  int born = -1;  // step
  int end = -1;   // step of its merge; of the eviction or the shown step for the root
  int into = -1;  // -1: the root
  double w_removed = kNotAvailable;
  double cos = kNotAvailable;
  std::vector<std::pair<int, int>> votes;  // (step, votes from there on), ascending; the last is what it ended with
  std::vector<std::pair<int, int>> gaps;   // (step at which it went, step at which it was restored by hand)

  int last_votes() const { return votes.empty() ? 1 : votes.back().second; }
};

/// Which tokens were merged into one slot, when and how alike.
struct Lineage {
  int root = -1;         // pos of the slot
  bool evicted = false;  // the slot went with everything in it
  int shown_step = -1;
  int merges = 0;
  int left_out = 0;                // lines dropped by trimmed()
  std::vector<LineageLine> lines;  // ascending token

  const LineageLine* line(int token) const;
};

/// Tree of the slot that stands, or stood last, for `token`.
Lineage lineage_of(const HeadPick& pick, int token);
Lineage lineage_of(const HeadPick& pick, int token, std::span<const Removal> removal);

/// The root and the lines that brought the most votes, at most `max_lines` in all; a line is never shown without the one it ends in.
Lineage trimmed(Lineage lineage, int max_lines);

/// Why a slot that was not protected has no ranking score that can be shown. (Where the numbers that scores are made of were recorded.)
enum class NoScore : std::uint8_t {
  unknown,         // nothing was recorded: the policy chose without one, or its file does not say it
  not_finite,      // it is not a finite number: a logarithm of 0, say
  observed,        // its query is one of the newest, which are observed to rank the others
  beside_observed  // its score is shared with such slots
};

/// Why a slot went, or was merged into the one looked at.
struct Why {
  int step = -1;  // of the removal; -1: nothing of the kind has happened
  Event event;
  int restored = -1;  // step in which its slot had been given back by hand before that; -1: it had not
  int removed_votes = 0;
  int slots_before = 0;  // slots in the head before this step's compression
  int budget = -1;
  bool full = false;             // as WhyKept::full()
  int n_ranked = 0;              // candidates with a score before removal
  int places = 0;                // how many of them stayed
  int rank = -1;                 // of the removed one among them, 1 = highest
  bool against_rank = false;     // against_rank()
  bool lower_of_equals = false;  // lower_of_equals_stayed()
  NoScore no_score = NoScore::unknown;
  double next_score = kNotAvailable;  // lowest score that stayed
  int next_pos = -1;
  double threshold = kNotAvailable;  // of the cosine, where the policy has one
  std::vector<double> other_cos;     // cosines of the other removals of this step
  std::optional<MergeDetail> detail;
  std::string protection;                         // of the removed slot before this step, as protection_of() says it
  int protected_sinks = 0, protected_recent = 0;  // how many slots were protected as such
  int pooled_tokens = 0;                          // what is evicted goes into a state of the head: it holds so many now
  double cost = kNotAvailable;                    // change of the head's output by this step's compression, relative L2
  int n_removed = 0;                              // by that compression, this one included
};

/// `pos`: in the selection of this record.
NoScore no_score_of(const HeadRecord& head, int pos);
/// As a half sentence; `unknown`: what is said where nothing was recorded.
const char* text_of(NoScore why, const char* unknown = "");

/// The removal of the token's own slot if it is gone, else the last merge into it.
Why why_of(const HeadPick& pick, int token);

/// The last step before `step` in which the slot was given back by hand; -1: there is none.
int restored_before(const LaneSnapshot& run, int step, int head, int pos);

/// Why the policy may not remove the slot of `pos`: "sink", "recent", "pinned by hand"; empty: it may. slots: pos of all that stand,
/// ascending.
std::string protection_of(const LaneSnapshot& run, const HeadRecord& head, std::span<const int> slots, int pos);

/// ln P + extra of a merge, with P the sum of the members' votes.
double merged_bias(const MergeDetail& detail);

/// The slot's logit bias as the logarithm of its votes and what the policy adds to that, "ln 6 − 1.74": the mean of keys that differ draws
/// another share than they did. Empty: no bias, or none is known.
std::string log_of_votes(const SlotFacts& slot);

/// A parameter of the lane as a number; NaN if there is none or it is not a number.
double param_number(const LaneSnapshot& lane, const char* key);

}  // namespace kvscope::viz
