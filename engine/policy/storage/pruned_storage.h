// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "policy/storage/storage.h"

namespace kvscope {

/// [width] 1: the channel goes. score_c = mean of q_c^2 over queries and query heads times mean of k_c^2 over keys; the floor(width x
/// share) lowest go, of equal ones the higher channel first. keys [n, width], queries [m, width].
std::vector<char> pruned_channels(std::span<const double> keys, std::span<const double> queries, std::size_t width, double share);

/// After the prompt the channels of keys that matter least to its last queries go, in every head others (ThinK, arXiv 2407.21018, as
/// kvpress 0.5.5 has it): they are 0 from then on. Values, and keys that come later, stay as they are.
class PrunedStorage final : public Storage {
 public:
  PrunedStorage(double share, int window) : share_(share), window_(window) {}
  void require(StatNeeds& needs) const override { needs.stored = needs.prompt_queries = true; }
  bool needs_prompt() const override { return true; }
  ToStore due(const SlotState& slots, bool after_prompt) const override;
  int block() const override { return 0; }
  void round_keys(const StoreSite& site, std::span<double> rows) const override;
  void round_values(const StoreSite&, std::span<double>) const override {}
  StoredCounts of_prompt(int n) const override;
  std::string equation() const override;
  double bytes(const StoredCounts& of, int head_dim, double full) const override;
  std::optional<double> fitting(double room, int n, int head_dim, double full) const override;
  double least_bytes(int n, int head_dim, double full) const override;

 private:
  double share_;
  int window_;
};

}  // namespace kvscope
