// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "policy/head_view.h"
#include "slots/slot_state.h"

namespace kvscope {

struct HeadDecision;

/// The part that says how much every slot of a head is worth. Higher stays. Ties fall to tie_break, then to the lower pos.
class Ranking {
 public:
  virtual ~Ranking() = default;
  /// Adds the statistics it reads.
  virtual void require(StatNeeds&) const {}
  /// [n]. NaN where it has no opinion (slots that are protected anyway). Empty: it never ranks.
  virtual std::vector<double> score(const HeadView& head) const = 0;
  /// Into `out`, whose memory is used again.
  virtual void score(const HeadView& head, std::vector<double>& out) const { out = score(head); }
  /// What the score is, in the terms that score() notes where they are wanted, for people, in one line; empty: there is none to show.
  virtual std::string equation() const { return {}; }
  /// Adds what it reads of a layer in which the `recent` newest slots are protected.
  virtual void require_in_layer(StatNeeds&, int /*recent*/) const {}
  /// True: scores need the whole prompt at once, and there are none afterwards.
  virtual bool needs_prompt() const { return false; }
  /// True: it reads HeadView::centers of the prompt's queries, also when the prompt is gone.
  virtual bool reads_centers() const { return false; }
  /// After all heads of a layer have their scores: makes them comparable, or adds what only the layer as a whole tells. heads: those that
  /// are ranked in this step.
  virtual void finish_layer(std::span<HeadDecision* const> /*heads*/) const {}
  /// Adds slots that it protects besides sinks and recent.
  virtual void protect(const HeadView&, std::vector<char>& /*is_protected*/) const {}
  /// [n], or empty: equal scores are decided by pos alone.
  virtual std::vector<double> tie_break(const HeadView&) const { return {}; }
  /// True where position alone decides: there is no score to show, and what is kept is sinks and recent.
  virtual bool by_position() const { return false; }
  /// The statistic that the score is, slot by slot, if nothing but the attention of steps changes it; nullopt: there is more to it.
  virtual std::optional<StatId> plain_statistic() const { return std::nullopt; }
  /// True: the score is the weighted mean of the last StatNeeds::rows rows of attention (slots/weighted_rows.h) and nothing else.
  virtual bool plain_rows() const { return false; }
  /// The statistic behind the score, as shown to people. Same as the score unless something is done to it.
  virtual std::vector<double> statistic(const SlotState& slots) const = 0;
};

/// Younger is better.
class PositionRanking final : public Ranking {
 public:
  std::vector<double> score(const HeadView& head) const override;
  bool by_position() const override { return true; }
  std::vector<double> statistic(const SlotState&) const override { return {}; }
};

/// By a statistic of the slots that has a score (slots/statistics).
template <class S>
class ColumnRanking : public Ranking {
 public:
  void require(StatNeeds& needs) const override { needs.*ColumnOf<S>::needs = true; }
  std::vector<double> score(const HeadView& head) const final {  // another score is another score(head, out)
    std::vector<double> out;
    score(head, out);
    return out;
  }
  void score(const HeadView& head, std::vector<double>& out) const override { scores_of(*head.slots, out); }
  std::optional<StatId> plain_statistic() const override { return FoldsSteps<S> ? std::optional(ColumnOf<S>::id) : std::nullopt; }
  std::string equation() const override { return S::kEquation; }
  std::vector<double> statistic(const SlotState& slots) const override {
    std::vector<double> out;
    scores_of(slots, out);
    return out;
  }

 private:
  static void scores_of(const SlotState& slots, std::vector<double>& out) {
    const auto& cells = column<S>(slots);
    out.resize(cells.size());
    for (std::size_t i = 0; i < cells.size(); ++i) out[i] = S::score(cells[i]);
  }
};

class DecayedRanking final : public ColumnRanking<statistics::Decayed> {
 public:
  explicit DecayedRanking(double lambda) : lambda_(lambda) {}
  void require(StatNeeds& needs) const override {
    ColumnRanking::require(needs);
    needs.lambda = lambda_;
  }
  std::string equation() const override;

 private:
  double lambda_;
};

/// W_i = S_i / times scored.
class MeanRanking final : public Ranking {
 public:
  void require(StatNeeds& needs) const override { needs.sum = true; }
  std::vector<double> score(const HeadView& head) const override;
  std::string equation() const override;
  std::vector<double> statistic(const SlotState& slots) const override;
};

/// No order at all: the selection draws.
class NoRanking final : public Ranking {
 public:
  std::vector<double> score(const HeadView&) const override { return {}; }
  std::vector<double> statistic(const SlotState&) const override { return {}; }
};

/// Number of the last `window` rows with abar_i >= 1/n, n the slots of that row; equal ones by accumulated abar.
class HitRanking final : public Ranking {
 public:
  explicit HitRanking(int window) : window_(window) {}
  void require(StatNeeds& needs) const override;
  std::vector<double> score(const HeadView& head) const override { return statistic(*head.slots); }
  std::string equation() const override;
  std::vector<double> tie_break(const HeadView& head) const override { return head.slots->sum; }
  std::vector<double> statistic(const SlotState& slots) const override;

 private:
  int window_;
};

/// W_i as MeanRanking; the n_deviating unprotected slots with the largest standard deviation of abar are protected too, as long as all
/// protected slots fit into the budget (equal ones: lower pos).
class DeviationProtectedRanking final : public Ranking {
 public:
  DeviationProtectedRanking(int n_deviating, int slots) : n_deviating_(n_deviating), slots_(slots) {}
  void require(StatNeeds& needs) const override { needs.sum = needs.sum_sq = true; }
  void protect(const HeadView& head, std::vector<char>& is_protected) const override;
  std::vector<double> score(const HeadView& head) const override { return MeanRanking().score(head); }
  std::string equation() const override;
  std::vector<double> statistic(const SlotState& slots) const override { return MeanRanking().statistic(slots); }

 private:
  int n_deviating_, slots_;
};

/// Last `rows` rows of abar, weighted linspace(1, 1.2) from the oldest to the newest, divided by the number of these rows that scored the
/// slot (POLICIES.md section 8: not by the sum of the weights). One row has weight 1.
class WeightedRowsRanking : public Ranking {
 public:
  explicit WeightedRowsRanking(int rows) : rows_(rows) {}
  bool plain_rows() const final { return true; }
  void require(StatNeeds& needs) const override;
  std::vector<double> score(const HeadView& head) const override { return statistic(*head.slots); }
  std::string equation() const override;
  std::vector<double> statistic(const SlotState& slots) const override;

 private:
  int rows_;
};

/// The same over as many rows as the layer protects recent slots (at least one).
class RecentRowsRanking final : public WeightedRowsRanking {
 public:
  RecentRowsRanking() : WeightedRowsRanking(1) {}
  void require_in_layer(StatNeeds& needs, int recent) const override { needs.rows = std::max(needs.rows, recent); }
  std::string equation() const override;
};

/// Of the values within half a kernel; padded: their sum over the whole kernel, as if zeros stood beyond the ends.
enum class Pool { max, avg, padded };

/// Mean of the last w rows of abar, then pooled over neighbouring slots; the last w slots are not ranked.
class PooledWindowRanking final : public Ranking {
 public:
  PooledWindowRanking(int w, int kernel, Pool pool) : w_(w), kernel_(kernel), pool_(pool) {}
  void require(StatNeeds& needs) const override;
  std::vector<double> score(const HeadView& head) const override;
  std::string equation() const override;
  std::vector<double> statistic(const SlotState& slots) const override;

 private:
  int w_, kernel_;
  Pool pool_;
};

/// Stride 1, odd kernel, same length. max ignores the border, avg divides by the true number of elements.
std::vector<double> pool_1d(std::span<const double> x, int kernel, Pool pool);
/// The same into `out`, which has as many numbers and does not overlap x.
void pool_1d(std::span<const double> x, int kernel, Pool pool, std::span<double> out);

}  // namespace kvscope
