// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace kvscope {

/// Which measures (POLICIES.md section 6) the records hold. What nobody asks for costs nothing and stays "not available".
struct MeasureSet {
  bool local = true;        // compress_rel_l2, local_rel_l2, local_l1_wo, attention_loss
  bool theta = false;       // with local: bound of local_l1_wo, for which the norm after W_O of every value seen is kept
  bool hidden = false;      // hidden_rel_l2: the reference's residual stream is kept, n_layers * dim numbers a step
  bool prediction = false;  // predictor_error, predictor_rel_error

  // With the captures of detail=why:
  bool runner_ups = false;  // the next best merge targets of every removed slot
  bool agreement = false;   // how many query heads of a group rank a token inside the budget

  bool queries = false;  // StepRecord::clouds: all queries of the prompt are kept for them. Not of all(): no trace has them

  /// What a look at one head needs besides.
  static constexpr MeasureSet of_one_head() { return {.local = false, .runner_ups = true, .agreement = true}; }
  static constexpr MeasureSet none() { return {.local = false}; }
  static constexpr MeasureSet all() {
    return {.local = true, .theta = true, .hidden = true, .prediction = true, .runner_ups = true, .agreement = true};
  }
  /// True if records with these measures answer a request for `other`.
  constexpr bool covers(const MeasureSet& other) const {
    return local >= other.local && theta >= other.theta && hidden >= other.hidden && prediction >= other.prediction &&
           runner_ups >= other.runner_ups && agreement >= other.agreement && queries >= other.queries;
  }
  bool operator==(const MeasureSet&) const = default;
};

}  // namespace kvscope
