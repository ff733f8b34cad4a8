// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "snapshot/figures.h"
#include "snapshot/snapshot.h"
#include "viz/selection.h"

namespace kvscope::viz {

/// One choice of a lane after the prompt.
struct AnswerToken {
  int step = 0;
  int id = 0;
  bool same = true;  // as the full cache's choice in the same step
};

/// Where a run's text leaves that of the reference lane.
struct TextSplit {
  int position = -1;           // of the first token that differs; -1: none does
  int compared = 0;            // tokens after the prompt
  bool forced = false;         // the run was fed the other text and would have chosen `token`
  std::string own, reference;  // both texts from there on, a few tokens
};

/// The metrics row of one lane. NaN: not available.
struct LaneMetrics {
  int step = -1;                    // shown step of this lane; -1: it has none
  int position = -1;                // of its query
  std::vector<AnswerToken> answer;  // top choices from the last prompt token on
  int answer_before = 0;            // choices of which all are the full cache's, left out before these
  double kl = kNotAvailable;        // nats, this step
  RunFigures means;                 // over the steps that count, or over those of a range
  std::optional<StepRange> range;   // nll and attention_loss are means over these steps; nullopt: this step's
  double nll = kNotAvailable;       // -ln p of the token fed next
  int next_token = -1;
  double attention_loss = kNotAvailable;  // mean over the heads that have one
  double slots = kNotAvailable;           // mean per head after this step
  double bytes = kNotAvailable;           // used by their keys and values
  double read = kNotAvailable;            // of these, by this step's query; not available: all
  PolicyWork work;
  TextSplit split;  // against the reference lane; filled where several lanes are at hand
};

/// Metrics at the step `wanted` (clamped; negative: the latest). `range` limits what is averaged. lane: of the snapshot.
LaneMetrics lane_metrics(const Snapshot& snapshot, const LaneSnapshot& lane, int wanted, int max_answer,
                         const std::optional<StepRange>& range = {});

inline constexpr int kAnswerOfOneWord = 6;  // tokens, at most

/// How many tokens of an answer make its first word or number, the blank before it included: what was asked for, mostly.
std::size_t first_word(const Snapshot& snapshot, const std::vector<AnswerToken>& answer);

/// The steps whose tokens make a word or number of the full cache's answer together with this step's; that step alone where it is a mark
/// or a blank.
StepRange word_around(const Snapshot& snapshot, int step);
/// The full cache's tokens of these steps, joined.
std::string words_of_steps(const Snapshot& snapshot, const StepRange& steps);

/// A lecture speaks of the word or number that was asked for: all of it, also where a run ends it early, and nothing of what a model goes
/// on to say.
void cut_to_word(std::vector<LaneMetrics>& lanes, const Snapshot& snapshot);

/// Where the full cache's answer begins with a blank and all lanes agree on it, every answer begins behind it.
void begin_answers(std::vector<LaneMetrics>& lanes, const Snapshot& snapshot);
/// So they begin, and at most `most` tokens of every answer stay, among them the first at which a run differs, as far as the answers hold
/// it.
void fit_answers(std::vector<LaneMetrics>& lanes, const Snapshot& snapshot, int most);
/// Place of a lane in Theme::runs, of its marker and its dash: the reference has the cross alone, the others share the rest.
int run_of_lane(int lane);

/// From the fed tokens, or (all lanes being fed the same) from the choices.
TextSplit first_text_difference(const Snapshot& snapshot, int lane);

/// What is worth a line under a lane's name: that nothing of it is stored smaller yet; its parameters, as "sinks 4". The budget has a
/// column of its own.
std::vector<std::string> lane_params(const LaneSnapshot& lane);
/// The same, those in which it differs from another run of its policy first: its budget, then others. `n_differ`: how many these are.
std::vector<std::string> telling_params(const Snapshot& snapshot, const LaneSnapshot& lane, std::size_t* n_differ = nullptr);

/// The least and the most slots that runs of a budget were asked for, where these are not the same: such runs do not compare like with
/// like.
std::optional<std::pair<int, int>> unequal_budgets(const Snapshot& snapshot);

/// "A", "B", ... "Z", then "27".
std::string lane_letter(int lane);

/// The specifications of all runs: what tells one from another.
std::vector<std::string> specs_of(const Snapshot& snapshot);
/// Where a run of `before` is in `now`: others come and go before and behind it, and some of them may be the same. -1: it is gone.
int place_now(const std::vector<std::string>& before, const std::vector<std::string>& now, int run);

/// Text of a vocabulary entry; "#1234" where neither the run nor the snapshot's vocabulary knows it.
std::string text_of_id(const Snapshot& snapshot, int id);

}  // namespace kvscope::viz
