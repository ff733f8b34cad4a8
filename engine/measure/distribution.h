// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "snapshot/step_record.h"

namespace kvscope {

/// ln softmax of logits [vocab], in place.
void log_softmax(std::span<double> logits);
/// Index of the largest value; ties: the lowest.
int argmax(std::span<const double> x);
/// exp of log-probabilities [vocab].
std::vector<double> probabilities(std::span<const double> log_p);
/// KL(p || q) = sum p (ln p - ln q), nats, from log-probabilities [vocab]; p = exp(log_p) is given because several q are held against one
/// p.
double kl_divergence(std::span<const double> p, std::span<const double> log_p, std::span<const double> log_q);
/// The n largest as (index, value), descending; ties: lower index first.
std::vector<std::pair<int, double>> top(std::span<const double> x, int n);
/// The candidates that the "output effect" view shows: the n tokens that are most likely in the reference or in the lane, most likely in
/// the reference first. Log-probabilities and logits [vocab] of lane and reference.
std::vector<TopToken> top_tokens(std::span<const double> log_p, std::span<const double> logits, std::span<const double> log_p_reference,
                                 std::span<const double> logits_reference, int n);

}  // namespace kvscope
