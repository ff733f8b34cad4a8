// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "policy/storage/storage.h"

namespace kvscope {

/// The 2^bits levels that lose least of a standard normal number in the mean of squares (Lloyd, Max), ascending.
std::vector<double> normal_levels(int bits);

/// A random orthogonal matrix [width, width]: Gram and Schmidt over rows of normal draws (POLICIES.md section 2, step, layer and head 0).
std::vector<double> random_rotation(int width, std::uint64_t seed);

/// Every row by itself: turned by one random rotation, its numbers are near to normal with variance ||x||^2 / width whatever the row was,
/// and each is replaced by the nearest of fixed levels; the length is kept (TurboQuant, arXiv 2504.19874, Algorithm 1, by mean of squares).
class RotatedStorage final : public Storage {
 public:
  /// residual: so many newest slots stay in full precision.
  RotatedStorage(int bits, int residual, int width, std::uint64_t seed);
  ToStore due(const SlotState& slots, bool after_prompt) const override;
  int block() const override { return 1; }
  void round_keys(const StoreSite& site, std::span<double> rows) const override { round(site, rows); }
  void round_values(const StoreSite& site, std::span<double> rows) const override { round(site, rows); }
  StoredCounts of_prompt(int n) const override;
  std::string equation() const override;
  double bytes(const StoredCounts& of, int head_dim, double full) const override;
  std::optional<double> fitting(double room, int n, int head_dim, double full) const override;
  double least_bytes(int n, int head_dim, double full) const override;

 private:
  void round(const StoreSite& site, std::span<double> rows) const;

  int bits_, residual_;
  std::vector<double> levels_;
  std::vector<double> turn_back_, turn_;  // rows times it: the rotation as drawn, and its transpose
};

}  // namespace kvscope
