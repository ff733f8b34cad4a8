// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "snapshot/snapshot.h"

namespace kvscope::viz {

/// One choice of a lane after the prompt.
struct AnswerToken {
  int step = 0;
  int id = 0;
  bool same = true;  // as the full cache's choice in the same step
};

/// The metrics row of one lane. NaN: not available.
struct LaneMetrics {
  int step = -1;                    // shown step of this lane; -1: it has none
  int position = -1;                // of its query
  std::vector<AnswerToken> answer;  // top choices from the last prompt token on
  double kl = kNotAvailable;        // nats, this step
  double mean_kl = kNotAvailable;   // over the decode steps (queries after the prompt)
  int decode_steps = 0;
  int first_decode = -1;       // step of the first of them
  int top1_same = 0;           // decode steps with the full cache's choice
  double nll = kNotAvailable;  // -ln p of the token fed next, this step
  int next_token = -1;
  double attention_loss = kNotAvailable;  // mean over the heads that have one, this step
  double slots = kNotAvailable;           // mean per head after this step
  double bytes = kNotAvailable;           // KV bytes allocated now
};

/// Metrics at the step `wanted` (clamped; negative: the latest). n_prompt: tokens of the prompt.
LaneMetrics lane_metrics(const LaneSnapshot& lane, int wanted, int n_prompt, int max_answer);

/// Whose slots represent a token of a head, in two lanes.
enum class Difference : std::uint8_t { neither, only_a, only_b, both };

/// Four states per (head, token) for the tokens that both lanes have seen. [n_heads][n_tokens], head-major.
struct LaneDifference {
  int n_heads = 0, n_tokens = 0;
  std::vector<Difference> cells;
  std::array<std::int64_t, 4> counts{};  // by Difference

  Difference at(int head, int token) const {
    return cells[static_cast<std::size_t>(head) * static_cast<std::size_t>(n_tokens) + static_cast<std::size_t>(token)];
  }
  std::int64_t total() const { return static_cast<std::int64_t>(cells.size()); }
};

/// A token counts where a slot represents it (its own or one that it was merged into) after the step. Lanes without steps have no cells.
LaneDifference lane_difference(const LaneSnapshot& a, int step_a, const LaneSnapshot& b, int step_b);

/// Heads of a lane in which one token has its own slot, and in which it lives on merged into another.
struct TokenCount {
  int kept = 0, merged = 0, heads = 0;
};

TokenCount token_count(const LaneSnapshot& lane, int step, int token);

/// Heads that represent each bin of tokens, as a share in [0, 1]; NaN for bins after the step's query. One row per layer.
/// [n_layers][n_bins]
std::vector<float> kept_by_layer(const LaneSnapshot& lane, int step, int n_layers, int n_tokens, int n_bins);

/// The parameters worth a line under a lane's name, as "sinks 4"; the budget has a column of its own.
std::vector<std::string> lane_params(const LaneSnapshot& lane);

/// "A", "B", ... "Z", then "27".
std::string lane_letter(int lane);

/// Text of a vocabulary entry; "#1234" where neither the run nor the snapshot's vocabulary knows it.
std::string text_of_id(const Snapshot& snapshot, int id);

}  // namespace kvscope::viz
