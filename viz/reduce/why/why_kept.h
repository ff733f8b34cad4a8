// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "viz/reduce/slot.h"
#include "viz/reduce/text.h"

namespace kvscope::viz {

inline constexpr const char* kEqualScores = "of equal scores the lower position stayed";

/// How a slot came through the last selection of its head that ranked or removed anything: policies that compress once have none in later
/// steps, and it still explains what stands.
struct WhyKept {
  int step = -1;         // of that selection; -1: there was none up to the step shown
  bool newer = false;    // the slot came in after it
  bool figures = false;  // nothing but figures is kept of it: no score of what stayed
  int slots_before = 0, slots_after = 0, budget = -1;
  std::string protection;  // as protection_of() says it
  bool collects = false;   // it was in no selection: what goes from the others is merged into it
  bool sent = false;       // the selection sent it to those slots
  int n_collect = 0;       // how many they are
  double score = kNotAvailable;
  bool against_rank = false;     // against_rank()
  bool lower_of_equals = false;  // lower_of_equals_stayed()
  NoScore no_score = NoScore::unknown;
  int rank = -1, n_ranked = 0;    // 1 = the highest score of all candidates, those that went included
  int places = 0;                 // how many of the candidates stayed
  double cutoff = kNotAvailable;  // lowest score that stayed by rank
  int gone = -1;                  // of those that went the one with the highest score; -1: none had one
  double gone_score = kNotAvailable;
  TokenRange alike;  // neighbours that have exactly this score: a maximum over neighbours makes such plateaus

  /// It left the head all the slots that it may have: else it is not the number of places that decided.
  bool full() const { return budget >= 0 && slots_after >= budget; }
};

/// pick.values must not be null; `pos` a slot that stands after the step.
WhyKept why_kept(const HeadPick& pick, int pos);

/// The reasons in order: what was chosen among how many; its rank. Empty: there was no selection.
std::vector<WhyStep> why_kept_steps(const Snapshot& snapshot, const HeadPick& pick, int pos);

/// Of a score that is made of several numbers: how, and those of one slot in the selection of this step.
std::vector<std::string> score_lines(const LaneSnapshot& run, int step, int head, int pos);

/// "one of the 3 slots that collect what goes", of one that does.
std::string one_that_collects(const WhyKept& kept);

/// "its share as it came out: 12 slots more than the 30 of a head on average"; empty: the head has what was asked for each.
std::string share_text(const LaneSnapshot& run, int budget);

/// What became of the same token, in the same head and at the same query, in the other runs that have a budget. No lines: there are none.
WhyStep other_runs_step(const Snapshot& snapshot, const HeadPick& pick, int token);

/// "stays: rank 18 of 146 for 42 places, cut-off 0.00837", "evicted in step 0: rank 43 of 146 for 42 places, ...", ... of a token in a head
/// of any run.
std::string verdict_text(const HeadPick& pick, int token);

/// The same for people who have not met ranks and cut-offs: a question and its answer. Empty: the token has not been read yet.
struct Reason {
  std::string question, answer;
};
/// `run`: its name, where several are looked at.
Reason why_sentence(const Snapshot& snapshot, const HeadPick& pick, int token, const std::string& run = {});

}  // namespace kvscope::viz
