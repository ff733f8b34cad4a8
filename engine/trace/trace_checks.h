// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

#include "io/json_cursor.h"
#include "snapshot/snapshot.h"

namespace kvscope {

// What numbers of a trace can be, and what they must be beside each other. All throw Error (where, expected, got).

/// A share, or none; rounded on its way.
double share_or_null(const JsonCursor& at, double rounding = 1e-6);
/// A distance, a size or a divergence, or none: never below 0 but by rounding.
double amount_or_null(const JsonCursor& at);

/// A cosine, or none; rounded on its way.
double cosine_or_null(const JsonCursor& at);

/// What the removed slot and its target weigh in the mean that a merge makes of them; out: its form is known.
void read_weights(const JsonCursor& event, Event& out);

/// Shares of one whole: together no more than it.
void check_shares(const JsonCursor& list, std::span<const float> shares);

/// The same of tokens' probabilities, in the run and in the reference.
void check_sum(const JsonCursor& list, std::span<const TopToken> tokens);

/// What a run says that it is, its specification and the values that were made of it are of the same policy.
void check_run_is_one(const JsonCursor& run, const LaneSnapshot& lane);

/// `own`, which the run says itself, is the value of this parameter, where that is a whole number.
void check_param(const JsonCursor& run, const char* param, const char* own_key, int own);

/// The full cache holds whole rows of keys and values, as wide as the model's heads: its bytes are those of its slots. Another run's are
/// those of its heads in the last step, where they were recorded; and so are the slots of any.
void check_sizes(const JsonCursor& run, const LaneSnapshot& lane, const ModelConfig& model, std::string_view precision, bool is_full);

/// The most likely token is the full cache's, or not, in every place that says so. reference: the same step of the full cache, or nullptr.
void check_choice(const JsonCursor& step, const StepRecord& record, const StepRecord* reference);

}  // namespace kvscope
