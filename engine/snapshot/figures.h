// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "snapshot/snapshot.h"

namespace kvscope {

// The one definition of a run's figures: the command line's table, JSON and CSV, the window's views, panels, lecture, report and sweep read
// them here. It stands beside the records, where viz may look, not in trace/, which viz may not see.
//
// Steps: means count the steps after the prompt. In prefill mode the prompt is one step whose query still sees every token, so that it
// equals the full cache's by construction: it does not count. In stream mode the steps of the prompt are the run's own work: all count.
// Tokens: what compares with the full cache (kl, top1_same) ends where the two have read different tokens (follow=self), because after that
// it would compare two texts. nll is of the tokens that the run itself was fed. n/a: a number that a step or a head lacks is left out and
// not counted, never taken as 0; a mean of none is n/a.

/// What a series of numbers comes to.
struct Statistics {
  int n = 0;  // numbers
  double sum = 0;
  double min = kNotAvailable, max = kNotAvailable;

  void add(double value);  // NaN: nothing happens
  double mean() const { return n > 0 ? sum / n : kNotAvailable; }
};

/// A run over some of its steps. What heads have becomes one number a step first, the mean of the heads that have it.
struct RunFigures {
  int first = -1;  // of these steps; -1: there is none
  int n_steps = 0;
  int compared = 0;                           // of these, before the run's text parts from the full cache's
  int top1_same = 0;                          // of the compared, with the full cache's most likely token
  Statistics kl;                              // KL(full || run), nats, of the compared
  Statistics nll;                             // -ln p of the token fed next, nats
  Statistics attention_loss;                  // share of the attention that went to tokens which no slot represents
  Statistics local_rel_l2;                    // local error
  Statistics local_l1_wo;                     // the same after W_O
  Statistics theta;                           // its bound
  Statistics predictor_error;                 // nats
  Statistics hidden_rel_l2;                   // residual stream after the last layer
  Statistics ms;                              // wall time
  Statistics read;                            // bytes that a step's query read of the cache; only where some are left unread
  int evicted = 0, merged = 0, restored = 0;  // slots that went or came back, all heads
  double slots = kNotAvailable;               // per head after the last of the steps, mean
  double bytes = kNotAvailable;               // used by the keys and values of these slots
  double allocated = kNotAvailable;           // for the run now, rows to grow in reserve

  /// Share of the compared steps with the full cache's choice.
  double top1_share() const { return compared > 0 ? static_cast<double>(top1_same) / compared : kNotAvailable; }
  /// The runs of a batch share their steps.
  double tokens_per_s() const { return ms.sum > 0 ? 1000.0 * ms.n / ms.sum : kNotAvailable; }
};

/// Steps of a run before which it has read what the full cache has: all but with follow=self, where the texts may part. After that kl, the
/// choices and the probabilities beside each other are of two texts.
int steps_of_one_text(const Snapshot& snapshot, const LaneSnapshot& lane);
/// Whether this step of a run compares with the full cache's.
bool compares(const Snapshot& snapshot, const LaneSnapshot& lane, int step);
/// KL(full || run) of a step, nats; n/a where it compares two texts.
double compared_kl(const Snapshot& snapshot, const LaneSnapshot& lane, int step);

/// First step that counts; the number of steps where none does.
int first_counted_step(const Snapshot& snapshot, const LaneSnapshot& lane);

/// Figures of a run over the steps that count. lane: one of snapshot.lanes, or another version of one. heads false: the figures of heads
/// stay n/a, and the work does not grow with their number.
RunFigures run_figures(const Snapshot& snapshot, const LaneSnapshot& lane, bool heads = true);
/// Over the steps first to last, whatever they read.
RunFigures run_figures(const Snapshot& snapshot, const LaneSnapshot& lane, int first, int last, bool heads = true);

/// Statistics, decisions and merges of a run. All n/a for the full cache, which has no policy to work.
struct PolicyWork {
  double prompt_ms = kNotAvailable;  // of a prefill's one compression
  int probe_tokens = 0;              // that ran over the full cache only to be observed
  double probe_ms = kNotAvailable;   // of prompt_ms, what they took; not available: there are none, or a file's, which has no times
  double ms = kNotAvailable;         // of a step that counts: the median of n_steps, or the mean where these have no times
  int n_steps = 0;                   // with a time of their own
};
PolicyWork policy_work(const Snapshot& snapshot, const LaneSnapshot& lane);

/// The token of this id, by the vocabulary or else the text; nullptr: neither has it.
const TokenInfo* token_known(const Snapshot& snapshot, int id);
/// Gives every run that was fed another text than the full cache its own: LaneSnapshot::tokens, texts by the vocabulary.
void tell_own_texts(Snapshot& snapshot);
/// How many tokens two runs have read alike, from the beginning: beyond them a position is another token in each. The largest int
/// where they do not part.
int n_alike_tokens(const Snapshot& snapshot, const LaneSnapshot& a, const LaneSnapshot& b);
/// Ids of the run's whole text: the prompt's and those fed after it.
std::vector<int> lane_tokens(const Snapshot& snapshot, const LaneSnapshot& lane);
/// The same with what the run itself says in these places after the prompt: what it was fed where that is its own text, else its own top
/// choices, whatever was fed before each.
std::vector<int> said_tokens(const Snapshot& snapshot, const LaneSnapshot& lane);

}  // namespace kvscope
