// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/not_available.h"
#include "slots/slot_state.h"

namespace kvscope {

/// What a whole prompt of n tokens leaves behind, gathered over its causal attention matrix (rows: queries, columns: tokens).
/// What is not needed may be empty.
struct PromptStats {
  struct Sums {
    PromptSum what;
    std::span<const double> of_slots;  // [n]
  };
  int n = 0;
  std::vector<Sums> sums = {};  // over its columns; abar is already reduced over the group
  std::span<const double> last_rows =
      {};  // [at least min(needs.prompt_rows(), n), n] last rows of abar, newest last; 0 where a token was not visible
  std::span<const double> last_z = {};    // [min(needs.z_rows, n), group, n] last rows of z, newest last; -inf where not visible
  const HitHistory* hits = nullptr;       // over at least the last needs.hits rows
  std::span<const double> key_norm = {};  // [n] norms of the keys before rotation
  std::span<const double> probed = {};    // [n] where needs.probe
  std::span<const double> learned = {};   // [n] where needs.learned
  double outside = kNotAvailable;         // mean over queries and group of the attention outside needs.outside
};

/// A fresh slot at the end, standing for the token at `pos` alone and never scored. group: query heads per KV head.
/// key_norm: norm of its key before rotation, where needs.key_norm.
void append_slot(SlotState& state, const StatNeeds& needs, int group, int pos, double key_norm = kNotAvailable);
/// The same at the place that `pos` has among the slots. Returns that place.
int insert_slot(SlotState& state, const StatNeeds& needs, int group, int pos, double key_norm = kNotAvailable);

/// Takes one step's rows into the statistics. a: [group, n] attention, votes and bias inside (may be empty if !needs.reads_a());
/// z: [group, n] logits q.k/sqrt(d) without bias (may be empty if !needs.reads_z()).
void observe_step(SlotState& state, const StatNeeds& needs, int group, std::span<const double> a, std::span<const double> z);

/// All tokens of the prompt as slots, with the statistics of the whole prompt. `state` must be empty.
void load_prompt(SlotState& state, const StatNeeds& needs, int group, const PromptStats& prompt);

/// The slots `gone` (ascending) leave; what they stood for must have been passed on or lost before.
void remove_slots(SlotState& state, std::span<const int> gone);
/// Slot `target` also stands for everything slot `from` stood for. `from` stays until remove_slots.
void unite(SlotState& state, int target, int from);
/// Nothing stands for the tokens of this slot any more: its votes are lost and counted. It stays until remove_slots.
void lose(SlotState& state, int slot);
/// Nothing stands for the token at `pos` any more, without that being a loss: it leaves the slot it is a member of, or the lost ones, with
/// its vote. Its share of a merged slot's key and value stays there. The token must not have a slot of its own.
void take_back(SlotState& state, int pos);

/// Makes the predicted log-score of a slot equal to log_score [group] from now on, in every predictor that is kept
/// (POLICIES.md section 5: lS = T + ln(1 - alpha^n), stored rows shifted in the log domain).
void set_log_score(SlotState& state, const StatNeeds& needs, int slot, std::span<const double> log_score);

}  // namespace kvscope
