// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "policy/storage/storage.h"

namespace kvscope {

/// A group of numbers in `bits` bits each: x' = lo + s round((x - lo) / s), s = (hi - lo) / (2^bits - 1), halves up. lo and hi are the
/// smallest and the largest. Numbers that are not finite, and groups whose range is not, stay as they are.
/// stride: elements from one of the n numbers to the next.
void round_group(double* x, std::size_t n, std::size_t stride, int bits);

/// Keys per channel in groups of tokens, values per token in groups of channels, asymmetric (KIVI, arXiv 2402.02750, Algorithm 1).
class GroupedStorage final : public Storage {
 public:
  /// group: tokens of a group of keys, channels of a group of values. residual: a multiple of it, or 0: the values of so many newest slots
  /// stay in full precision, and keys leave it so many at a time (one group at a time where it is 0).
  /// Throws UsageError where it is neither.
  GroupedStorage(int bits, int group, int residual);
  ToStore due(const SlotState& slots, bool after_prompt) const override;
  int block() const override { return group_; }
  void round_keys(const StoreSite& site, std::span<double> rows) const override;
  void round_values(const StoreSite& site, std::span<double> rows) const override;
  StoredCounts of_prompt(int n) const override;
  std::string equation() const override;
  double bytes(const StoredCounts& of, int head_dim, double full) const override;
  std::optional<double> fitting(double room, int n, int head_dim, double full) const override;
  double least_bytes(int n, int head_dim, double full) const override;

 private:
  int keys_at_a_time() const { return std::max(residual_, group_); }

  int bits_, group_, residual_;
};

}  // namespace kvscope
