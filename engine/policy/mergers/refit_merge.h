// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "policy/mergers/merger.h"
#include "policy/rankings/reference_queries.h"

namespace kvscope {

/// What is fitted to the slots that stay, and how far they are from answering as all did.
struct Refitted {
  std::vector<double> weight;  // [kept] > 0: what exp(logit) is multiplied with
  std::vector<double> values;  // [kept, width]
  // |outputs of what stays - outputs of all| / |outputs of all| over the reference queries, as evicted alone and as fitted; NaN: 0/0
  double error_before = 0, error_after = 0;
};

/// Attention Matching (arXiv:2602.16284) as fixed in POLICIES.md section 4.4: with the rows of reference queries r over all slots i, and K
/// the slots that stay,
///   w  smallest  sum over r of (sum over K of e_ri w_i - sum over all of e_ri)^2 + lambda sum (w_i - 1)^2,   e^-limit <= w_i <= e^limit
///   c  smallest  sum over r of |sum over K of x_ri c_i - o_r|^2 + mu sum |c_i - v_i|^2,   x_ri = e_ri w_i / sum over K,  o_r the output of
///   all
/// with lambda and mu `ridge` times the mean of the squares' own weights, so that a slot which no query sees stays as it is.
/// values: of all slots, [n, width]. Empty where there is no solution: something is not finite.
Refitted refit(const ReferenceQueries::Rows& rows, std::span<const int> kept, std::span<const double> values, double ridge, double limit);

/// What goes is evicted; what stays gets ln w as its bias and c as its value. Keys stay.
class RefitMerger final : public Merger {
 public:
  struct Options {
    ReferenceQueries queries;
    double ridge = 0.01;
    double limit = 3;
  };
  explicit RefitMerger(const Options& options) : o_(options) {}

  std::unique_ptr<Merger> clone() const override { return std::make_unique<RefitMerger>(*this); }
  void require(StatNeeds& needs) const override { needs.prompt_queries = true; }
  bool needs_prompt() const override { return true; }
  void merge(HeadDecision& head) override;

 private:
  Options o_;
};

}  // namespace kvscope
