// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

#include "policy/rankings/ema_share_ranking.h"
#include "policy/rankings/ranking.h"
#include "policy/text/expression.h"

namespace kvscope {

/// What an expression may name of a slot.
enum class Quantity : std::uint8_t { sum, mean, last, ema, votes, age, position, knorm, vnorm, wo_norm, similarity };

struct QuantityInfo {
  std::string_view name;
  std::string_view help;  // one line
};
/// In the order of Quantity.
std::span<const QuantityInfo> quantities();

/// A score that a user wrote over these quantities. Throws UsageError where the text is not an expression.
class ScoreExpression {
 public:
  explicit ScoreExpression(std::string_view text);
  const Expression& expression() const { return expression_; }
  bool uses(Quantity q) const { return expression_.uses(static_cast<std::size_t>(q)); }
  bool reads_attention() const { return uses(Quantity::sum) || uses(Quantity::mean) || uses(Quantity::last); }
  /// True: reads keys or values, not only what is known of the slots.
  bool reads_rows() const { return uses(Quantity::vnorm) || uses(Quantity::wo_norm) || uses(Quantity::similarity); }

 private:
  Expression expression_;
};

/// Slots by a user's own score. Only what the expression names is kept and computed: `similarity` costs n^2 cosines per head and step.
/// A score that is NaN ranks as -inf (POLICIES.md section 2).
class ExpressionRanking final : public Ranking {
 public:
  /// ema: how `ema` is computed.
  ExpressionRanking(ScoreExpression score, const EmaShareRanking& ema) : score_(std::move(score)), ema_(ema) {}
  void require(StatNeeds& needs) const override;
  std::vector<double> score(const HeadView& head) const override { return evaluate(*head.slots, head.keys, &head); }
  std::string equation() const override { return score_.expression().text(); }
  /// The score itself, where the slots alone tell it.
  std::vector<double> statistic(const SlotState& slots) const override;

 private:
  /// Notes every quantity that it names in `notes`, where there are any.
  std::vector<double> evaluate(const SlotState& slots, const KeyGeometry* rows, const HeadView* notes) const;
  std::vector<double> column(Quantity q, const SlotState& slots, const KeyGeometry* rows) const;

  ScoreExpression score_;
  EmaShareRanking ema_;
};

}  // namespace kvscope
