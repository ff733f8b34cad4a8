// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "snapshot/snapshot.h"

namespace kvscope::viz {

/// Which tokens every head of a lane represents after one step (by an own slot or a merged one): one bit per head and token, and above them
/// a pyramid of counts over bins of 16, 64, 256, ... tokens, so that a picture costs what its pixels cost. Moving to another step touches
/// only the tokens that were born or lost in between.
class Represented {
 public:
  static constexpr int kLeafTokens = 16;  // per bin of the lowest stored level

  /// Shows `lane` after `step` (index into its steps; the lane must have fates). Takes over what it knows where that step belongs to the
  /// same run, else counts anew. Returns how many (head, token) cells changed; -1: everything was counted anew.
  std::int64_t show(const LaneSnapshot& lane, int step);

  bool empty() const { return n_heads_ == 0; }
  int step() const { return step_; }
  int n_heads() const { return n_heads_; }
  int n_tokens() const { return n_tokens_; }  // seen at the step
  bool at(int head, int token) const;
  /// Tokens of [first, last] that a head represents; the range is cut to the tokens seen.
  int count(int head, int first, int last) const;
  /// Tokens represented in bins [first_bin, first_bin + out.size()) of `bin` tokens, a power of two. Bins after the tokens seen: 0.
  void bins(int head, int bin, int first_bin, std::span<std::uint32_t> out) const;
  /// [n_tokens] heads that represent each token.
  std::span<const int> heads_per_token() const { return {heads_per_token_.data(), static_cast<std::size_t>(n_tokens_)}; }
  /// One bit per token, lowest bit first; bits from n_tokens on are 0.
  std::span<const std::uint64_t> bits(int head) const;
  std::size_t bytes() const;  // held

 private:
  struct Level {
    std::size_t stride = 0;             // bins per head
    std::vector<std::uint16_t> counts;  // [head][bin]
  };

  /// Tokens of one head that went with a slot they had been merged into: events name the slot only.
  struct Followers {
    int n_steps = 0;          // known for the steps before this one
    std::vector<int> tokens;  // ascending step, then token
    std::vector<int> lost;    // their step
  };

  void count_all(const LaneSnapshot& lane);
  void count_head(const HeadFates& fates, int head, int n_steps);
  void find_followers(const HeadFates& fates, int head, int n_steps);
  void move_head(const LaneSnapshot& lane, int head, int low, int high, int to, int n_tokens);
  bool continues(const LaneSnapshot& lane, int n_tokens) const;
  void set(int head, int token, bool on);
  StepPtr record_;  // kept: its address then names the run
  int step_ = -1;
  int n_heads_ = 0, n_tokens_ = 0;
  std::size_t words_ = 0;  // per head
  std::vector<std::uint64_t> bits_;
  std::vector<Level> levels_;  // bins of kLeafTokens, four times as wide each
  std::vector<int> heads_per_token_;
  std::vector<Followers> followers_;  // by head
  std::int64_t changed_ = 0;
};

}  // namespace kvscope::viz
