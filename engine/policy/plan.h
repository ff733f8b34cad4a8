// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/not_available.h"

namespace kvscope {

/// How a merged slot keeps its softmax mass (POLICIES.md section 5), or whose weights are used; none: the policy has one form only.
enum class MergeForm : std::uint8_t { none, bias, zip, code, paper };

/// One slot goes. Indices are those before any removal of this compression.
struct Removal {
  int slot = 0;
  int target = -1;          // slot that takes over its members and votes; -1: evicted, the votes are lost
  std::vector<int> spread;  // evicted, but its value is added in equal parts to those of these slots (ascending), which stay; usually empty
  double w_removed = 0;     // weight of the removed slot in the merge
  double w_target = 0;      // weight of the target in the merge
  double score = kNotAvailable;  // ranking score at the time of removal
  double cos = kNotAvailable;    // cosine to the nearest kept key, where the policy looks at it
  double gamma = kNotAvailable;  // form=zip: length factor of the key
  MergeForm form = MergeForm::none;
  bool fallback = false;  // zip was out of range and done as bias
};

/// Target slot = weighted sums of members (target among them), one after the other in order of the vector; or, of one member, the slot
/// itself with another value.
struct Merge {
  int target = 0;
  std::vector<int> members;         // first: target
  std::vector<double> key_weights;  // empty: the key stays
  double key_scale = 1;
  std::vector<double> value_weights;  // empty: the value stays, or is given
  std::vector<double> value;          // [head_dim], in place of a weighted sum
  std::optional<double> extra;        // new extra_i of the target
  std::vector<double> log_score;      // T_g: new predicted log-score per query head; empty: statistics stay
  std::optional<double> decayed;      // new decayed sum of the target
  // what the "why" panel shows (POLICIES.md section 5), per query head
  std::vector<double> member_log_scores;  // lshat_{g,i}, [members, group]
  std::vector<double> mean_log_score;     // m_g
  std::vector<double> mu;                 // per member
  // and of a given value: its relative change, and the relative error of the head's outputs for the queries it is fitted to, without and
  // with what is fitted
  double value_change = kNotAvailable, error_before = kNotAvailable, error_after = kNotAvailable;
};

/// One of the numbers that a score is made of, of every slot; not available where a slot has none.
struct ScoreTerm {
  const char* name = "";       // as the ranking's equation has it
  std::vector<double> values;  // [n]
};

/// What one compression of one (layer, KV head) does. The runtime applies it; policies change nothing themselves.
struct Plan {
  std::vector<Removal> removals;  // in the order of the trace's events
  std::vector<Merge> merges;
  std::vector<double> score;     // ranking score of every slot before removal; NaN: not ranked. Empty: no ranking in this step
  std::vector<ScoreTerm> terms;  // of the same slots, where HeadView::explains asks for them and the score is made of several
  std::vector<int> to_residual;  // slots that from now on collect others instead of being ranked away (ascending); they stay
  int n_observed = 0;            // the newest slots that have no score: their queries are observed, and not all of them need have room
  double theta = kNotAvailable;  // cosine above which keys went together, where a policy finds it anew in every compression

  bool changes_slots() const { return !removals.empty() || !to_residual.empty(); }
};

}  // namespace kvscope
