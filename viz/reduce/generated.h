// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "snapshot/snapshot.h"

namespace kvscope::viz {

/// What a step predicts after the prompt: the token that the text of the full cache goes on with (the given text's, where all runs are fed
/// one), and the run's own choice: where it goes on from its own text, the token that it went on with.
struct GeneratedToken {
  int step = 0;
  std::string reference, says;  // token texts
  std::string choice;           // the full cache's: another one than `reference` where the text was given or drawn
  bool same = true;             // `says` is the full cache's: its most likely token or, of a run of its own text, the one it went on with
  double p = kNotAvailable;     // of the reference's token, in the run; n/a once it reads another text
};

/// One for each step of the lane from the last token of the prompt on.
std::vector<GeneratedToken> generated_tokens(const Snapshot& snapshot, const LaneSnapshot& lane);

/// The candidates of a step, those first that either cache believes in most. Where the run reads another text than the full cache, that one
/// has no probability and no logit of them (NaN), and the rank 0: they would be of two texts.
std::vector<TopToken> candidates(const Snapshot& snapshot, const LaneSnapshot& lane, int step);

/// "every run goes on from the reference's token": what the next step of a run reads.
std::string goes_on_from(const Snapshot& snapshot);

/// "full cache: · 4 8 2; this run: · 4 2 2", for who cannot see them beside each other; of the full cache its own alone.
std::string answers_text(const Snapshot& snapshot, const LaneSnapshot& lane);

}  // namespace kvscope::viz
