// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "policy/rankings/leverage_ranking.h"

namespace kvscope {

/// Attention that the tokens of the same chunk of the prompt pay to a slot, later ones included, times the norm of its value, averaged over
/// three neighbours and normalised over the layer (Compactor, arXiv:2507.08143; POLICIES.md section 4.5). O(n chunk head_dim) per query
/// head.
class NonCausalRanking final : public Ranking {
 public:
  explicit NonCausalRanking(int chunk) : chunk_(chunk) {}
  void require(StatNeeds& needs) const override { needs.prompt_queries = true; }
  bool needs_prompt() const override { return true; }
  std::vector<double> score(const HeadView& head) const override;
  std::string equation() const override;
  void finish_layer(std::span<HeadDecision* const> heads) const override;
  std::vector<double> statistic(const SlotState&) const override { return {}; }

  /// Of the slots first .. end - 1 among themselves, [end - first], not normalised.
  std::vector<double> attention(const HeadView& head, std::size_t first, std::size_t end, std::vector<double>* alone = nullptr) const;

 private:
  int chunk_;
};

/// blend times the leverage plus the attention of NonCausalRanking, both normalised, of what lies between the first and the last slots.
class BlendedRanking final : public Ranking {
 public:
  /// sinks, recent: slots at both ends that are not scored; blend: nan: the share that is removed.
  BlendedRanking(LeverageRanking leverage, NonCausalRanking attention, int sinks, int recent, double blend, int slots)
      : leverage_(leverage), attention_(attention), sinks_(sinks), recent_(recent), blend_(blend), slots_(slots) {}
  void require(StatNeeds& needs) const override { attention_.require(needs); }
  bool needs_prompt() const override { return true; }
  std::vector<double> score(const HeadView& head) const override;
  std::string equation() const override;
  void finish_layer(std::span<HeadDecision* const> heads) const override;
  std::vector<double> statistic(const SlotState&) const override { return {}; }

 private:
  struct Middle {
    std::size_t first = 0, end = 0;
  };
  Middle middle(std::size_t n) const;

  LeverageRanking leverage_;
  NonCausalRanking attention_;
  int sinks_, recent_;
  double blend_;
  int slots_;
};

/// What one query head pays: softmax over the chunk of q . k, neither masked nor divided by sqrt(width), summed over the chunk's queries.
/// queries, keys: [n, width]. Added to sums [n]. A last chunk that is not full is filled up to `chunk` with queries and keys of zeros, as
/// kvpress does it: they take part.
void add_chunk_attention(std::span<const double> queries, std::span<const double> keys, std::size_t n, std::size_t chunk,
                         std::span<double> sums);

}  // namespace kvscope
