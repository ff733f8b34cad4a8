// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <span>
#include <vector>

#include "policy/plan.h"
#include "policy/policy.h"
#include "policy/statistics/slot_state.h"

namespace kvscope {

/// What a whole prompt of n tokens leaves behind, gathered over its causal attention matrix (rows: queries, columns: tokens).
/// Spans of statistics that are not needed may be empty.
struct PromptStats {
  int n = 0;
  std::span<const double> sum;        // [n] column sums of abar (already reduced over the group)
  std::span<const double> sum_sq;     // [n] column sums of abar^2
  std::span<const double> last_rows;  // [min(needs.rows, n), n] last rows of abar, newest last; 0 where a token was not visible
  std::span<const double> last_z;     // [min(needs.z_rows, n), group, n] last rows of z, newest last; -inf where not visible
  std::span<const double> decayed;    // [n] sum over the rows r of lambda^(n-1-r) abar_r
  const HitHistory* hits = nullptr;   // over at least the last needs.hits rows
  std::span<const double> key_norm;   // [n] norms of the keys before rotation
  double outside = kNone;             // mean over queries and group of the attention outside needs.outside
};

/// A fresh slot at the end, standing for the token at `pos` alone and never scored. group: query heads per KV head.
/// key_norm: norm of its key before rotation, where needs.key_norm.
void append_slot(SlotState& state, const StatNeeds& needs, int group, int pos, double key_norm = kNone);

/// Nothing stands for the token at `pos` any more, without that being a loss: it leaves the slot it is a member of, or the lost ones, with
/// its vote. Its share of a merged slot's key and value stays there. The token must not have a slot of its own.
void take_back(SlotState& state, int pos);
/// A fresh slot as append_slot makes it, at the place that `pos` has among the slots. Returns that place.
int insert_slot(SlotState& state, const StatNeeds& needs, int group, int pos, double key_norm = kNone);

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
/// Makes the predicted log-score of a slot equal to log_score [group] from now on, in every predictor that is kept
/// (POLICIES.md section 5: lS = T + ln(1 - alpha^n), stored rows shifted in the log domain).
void set_log_score(SlotState& state, const StatNeeds& needs, int slot, std::span<const double> log_score);

/// All host-side effects of a plan: members, votes, extra, log-scores, lost tokens; then the removed slots go.
/// Returns the indices (before the removal) of those that went, ascending.
std::vector<int> apply_plan(SlotState& state, const StatNeeds& needs, const Plan& plan);

/// b_i = factor ln p_i + extra_i of a slot.
inline double bias_of_slot(double votes, double extra, Bias bias) { return votes == 1 ? extra : extra + bias.vote_factor * std::log(votes); }
/// The same of every slot. Empty where it is zero everywhere (Bias::none, or one vote per slot and no extra).
std::vector<double> bias_of(const SlotState& state, Bias bias);

/// How the score of the next query is predicted (POLICIES.md section 5).
enum class Predict : std::uint8_t { ema, current, window };

/// ln(1 - alpha^n), the start-up correction of the EMA.
class EmaStart {
 public:
  explicit EmaStart(double alpha) : alpha_(alpha) {}
  double at(int n) const;
  /// The same, remembered by its thread for the n met so far.
  double operator()(int n) const;

 private:
  double alpha_;
};

/// lshat_{g,i}: predicted log-scores, [n, group], entry [i * group + g] (POLICIES.md section 5).
void log_scores(const SlotState& state, Predict predict, int group, const EmaStart& start, std::vector<double>& lshat);
std::vector<double> log_scores(const SlotState& state, Predict predict, int group, double alpha);
/// ln Z_g = ln sum_i p_i exp(lshat_{g,i}), [group].
std::vector<double> log_normalisers(const SlotState& state, std::span<const double> lshat, int group);

}  // namespace kvscope
