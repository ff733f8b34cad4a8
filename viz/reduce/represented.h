// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "snapshot/snapshot.h"

namespace kvscope::viz {

/// Which tokens every head of a lane represents after one step (by an own slot or a merged one): one bit per head and token, and above them
/// a pyramid of counts over bins of 256 and 4096 tokens, so that a picture costs what its pixels cost. Moving to another step touches only
/// the tokens that were born or lost in between, a word of 64 at once.
class Represented {
 public:
  static constexpr int kWordTokens = 64;   // of a change
  static constexpr int kLeafTokens = 256;  // per bin of the lowest stored level

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
  /// Of what is shown: another number for everything else, in this object and in others. 0: nothing.
  std::uint64_t version() const { return version_; }
  /// Tokens of one word that a head came to represent (by = 1) or does no longer (-1): first + k for every bit k.
  struct Change {
    std::uint64_t bits = 0;
    int head = 0, first = 0, by = 0;
  };
  /// From the version changed_from() to this one, in order; a token may come and go within it.
  std::span<const Change> changes() const { return changes_; }
  /// 0: everything was counted anew, or more changed than is worth following.
  std::uint64_t changed_from() const { return changed_from_; }
  std::size_t bytes() const;  // held

 private:
  struct Level {
    std::size_t stride = 0;             // bins per head
    std::vector<std::uint16_t> counts;  // [head][bin]
  };

  /// Tokens of one word of a head.
  struct Cell {
    std::uint64_t bits = 0;
    int head = 0, word = 0;
  };
  /// What the heads lost in one step: the slots that were evicted and all that had been merged into them.
  struct Losses {
    std::weak_ptr<const StepRecord> of;  // the step; another one in its place: another run
    std::vector<Cell> cells;             // by head; not of heads with a past
  };

  void count_all(const LaneSnapshot& lane);
  void count_head(const HeadFates& fates, int head, std::vector<int>& heads_per_token);
  void move(const LaneSnapshot& lane, int to, int n_tokens);
  const std::vector<Cell>& losses_of(const LaneSnapshot& lane, int step);
  bool continues(const LaneSnapshot& lane, int n_tokens) const;
  void set(int head, int word, std::uint64_t tokens, bool on);
  void set(int head, int first, int end, bool on);  // tokens [first, end)

  StepPtr record_;  // kept: its address then names the run
  int step_ = -1;
  int n_heads_ = 0, n_tokens_ = 0;
  std::size_t words_ = 0;  // per head
  std::vector<std::uint64_t> bits_;
  std::vector<Level> levels_;  // bins of kLeafTokens, sixteen times as wide each
  std::vector<int> heads_per_token_;
  std::vector<Losses> losses_;  // by step, filled when first moved over
  std::int64_t changed_ = 0;
  std::uint64_t version_ = 0, changed_from_ = 0;
  std::vector<Change> changes_;
};

}  // namespace kvscope::viz
