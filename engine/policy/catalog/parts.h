// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "policy/policy_row.h"
#include "policy/rankings/key_difference_ranking.h"

namespace kvscope {

// Makers of the parts that rows are composed of. A key that rows name differently is read under the first name that the lane has.

/// A part that takes no key.
template <class Part, class Base>
std::unique_ptr<Base> plain(const PartSetup&) {
  return std::make_unique<Part>();
}

// ---- rankings
inline constexpr auto by_position = plain<PositionRanking, Ranking>;
template <class S>
inline constexpr auto by_column = plain<ColumnRanking<S>, Ranking>;
inline constexpr auto by_sum = by_column<statistics::Sum>;
inline constexpr auto by_mean = plain<MeanRanking, Ranking>;
inline constexpr auto by_recent_rows = plain<RecentRowsRanking, Ranking>;
inline constexpr auto by_key_difference = plain<KeyDifferenceRanking, Ranking>;
inline constexpr auto by_nothing = plain<NoRanking, Ranking>;
std::unique_ptr<Ranking> by_decayed(const PartSetup& s);              // lambda
std::unique_ptr<Ranking> by_mean_with_deviating(const PartSetup& s);  // spread
std::unique_ptr<Ranking> by_hits(const PartSetup& s);                 // window
std::unique_ptr<Ranking> by_last_row(const PartSetup& s);
std::unique_ptr<Ranking> by_weighted_rows(const PartSetup& s);  // window
std::unique_ptr<Ranking> by_pooled_window(const PartSetup& s);  // kernel, pool
std::unique_ptr<Ranking> by_ema_share(const PartSetup& s);      // ema_alpha, window
std::unique_ptr<Ranking> by_expression(const PartSetup& s);     // score, ema_alpha, window

// ---- selections
std::unique_ptr<Selection> top(const PartSetup& s);  // drop, if there is such a key
std::unique_ptr<Selection> one_by_one(const PartSetup& s);
std::unique_ptr<Selection> drawn(const PartSetup& s);
std::unique_ptr<Selection> two_stages(const PartSetup& s);     // critical_alpha, eps
std::unique_ptr<Selection> heavy_hitters(const PartSetup& s);  // heavy
std::unique_ptr<Selection> context_share(const PartSetup& s);  // residual
/// Slots besides sinks and recent that these selections need (PolicyRow::least_free).
int room_for_heavy(const Params& params, int slots);
int room_for_residual(const Params& params, int slots);

// ---- allocations
inline constexpr auto uniform = plain<UniformAllocation, Allocation>;
inline constexpr auto unlimited = plain<UnlimitedAllocation, Allocation>;
std::unique_ptr<Allocation> pyramid(const PartSetup& s);        // pyramid_beta
std::unique_ptr<Allocation> decaying(const PartSetup& s);       // decay
std::unique_ptr<Allocation> adaptive(const PartSetup& s);       // ada_alpha
std::unique_ptr<Allocation> by_importance(const PartSetup& s);  // scores, head_beta
std::unique_ptr<Allocation> by_variance(const PartSetup& s);
std::unique_ptr<Allocation> streaming_heads(const PartSetup& s);  // heads, sparsity, sinks, recent

// ---- mergers
inline constexpr auto evict = plain<NoMerger, Merger>;
std::unique_ptr<Merger> into_neighbour(const PartSetup& s);
std::unique_ptr<Merger> into_following_values(const PartSetup& s);  // m
std::unique_ptr<Merger> into_alike_enough(const PartSetup& s);      // d2o_beta, form
std::unique_ptr<Merger> into_pivots(const PartSetup& s);            // fit, threshold, sigma
std::unique_ptr<Merger> into_residual(const PartSetup& s);          // residual
std::unique_ptr<Merger> into_nearest_key(const PartSetup& s);       // threshold, predict, ema_alpha, window, form

}  // namespace kvscope
