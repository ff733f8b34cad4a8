// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <limits>

#include "viz/reduce/represented.h"

namespace kvscope::viz {

/// Whose slots represent a token of a head, in two lanes.
enum class Difference : std::uint8_t { neither, only_a, only_b, both };

/// Four states per (head, token) for the tokens that both lanes have seen, `n_alike` at most: beyond them their texts have parted. A token
/// counts where a slot represents it (its own or one that it was merged into). Looks into the two lanes' bits: both must stay at their
/// steps while this is used.
class LaneDifference {
 public:
  LaneDifference() = default;  // no cells
  LaneDifference(const Represented& a, const Represented& b, int n_alike = std::numeric_limits<int>::max());

  bool empty() const { return n_heads_ == 0 || n_tokens_ == 0; }
  int n_heads() const { return n_heads_; }
  int n_tokens() const { return n_tokens_; }
  Difference at(int head, int token) const;
  /// The texts part behind the last token.
  bool parted() const { return n_tokens_ == n_alike_; }
  int n_alike() const { return n_alike_; }
  std::int64_t total() const { return static_cast<std::int64_t>(n_heads_) * n_tokens_; }
  const Represented& a() const { return *a_; }
  const Represented& b() const { return *b_; }

 private:
  const Represented *a_ = nullptr, *b_ = nullptr;
  int n_heads_ = 0, n_tokens_ = 0, n_alike_ = std::numeric_limits<int>::max();
};

/// Token-heads by Difference, followed from step to step.
class DifferenceCounts {
 public:
  /// Counts every bit unless follow() was told of all that the two lanes have done since the last call.
  const std::array<std::int64_t, 4>& of(const LaneDifference& cells);
  /// To be called after every Represented::show() of a lane, before the next one: what it changed is counted against the other lane's bits
  /// as they stand then. Lanes that were not asked for last are none of its business.
  void follow(const Represented& moved);

 private:
  const Represented *a_ = nullptr, *b_ = nullptr;
  std::uint64_t version_a_ = 0, version_b_ = 0;  // that both_ belongs to; 0: to none
  std::int64_t both_ = 0;
  int n_alike_ = 0;
  std::array<std::int64_t, 4> counts_{};
};

}  // namespace kvscope::viz
