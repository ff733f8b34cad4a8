// SPDX-License-Identifier: Apache-2.0
#include "policy/rankings/expression_ranking.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "core/error.h"
#include "core/not_available.h"

namespace kvscope {
namespace {

constexpr QuantityInfo kQuantities[] = {
    {"sum", "attention accumulated over all queries so far"},
    {"mean", "accumulated attention over the number of queries that have seen the slot"},
    {"last", "attention of this step"},
    {"ema", "share of the attention that an EMA of exp(logit) predicts, votes included"},
    {"votes", "tokens the slot stands for"},
    {"age", "queries since the token came in, its own included (1: the newest)"},
    {"position", "place of the token in the text (0: the first)"},
    {"knorm", "length of the key, as it came in"},
    {"vnorm", "length of the value"},
    {"wo_norm", "1-norm of the value after the output projection, mean over the query heads"},
    {"similarity", "largest cosine of the key to another key in the cache (0: there is no other)"},
};
constexpr std::size_t kCount = std::size(kQuantities);

std::span<const std::string_view> names() {
  static const auto all = [] {
    std::array<std::string_view, kCount> out;
    std::ranges::transform(kQuantities, out.begin(), &QuantityInfo::name);
    return out;
  }();
  return all;
}

/// Largest cosine of every key to any other.
std::vector<double> nearest_cosines(const KeyGeometry& keys, std::size_t n) {
  constexpr std::size_t kRows = 64;  // at a time, to need little memory
  std::vector<double> best(n, 0.0);
  std::vector<int> all(n);
  std::iota(all.begin(), all.end(), 0);
  for (std::size_t first = 0; first < n && n > 1; first += kRows) {
    const std::size_t rows = std::min(kRows, n - first);
    const std::vector<double> cosines = keys.cosines(std::span(all).subspan(first, rows), all);
    for (std::size_t r = 0; r < rows; ++r) {
      const std::size_t self = first + r;
      best[self] = -1;
      for (std::size_t j = 0; j < n; ++j)
        if (j != self) best[self] = std::max(best[self], cosines[r * n + j]);
    }
  }
  return best;
}

}  // namespace

std::span<const QuantityInfo> quantities() { return kQuantities; }

ScoreExpression::ScoreExpression(std::string_view text) : expression_(text, names()) {}

void ExpressionRanking::require(StatNeeds& needs) const {
  needs.sum = needs.sum || score_.uses(Quantity::sum) || score_.uses(Quantity::mean);
  if (score_.uses(Quantity::last)) needs.rows = std::max(needs.rows, 1);
  if (score_.uses(Quantity::ema)) ema_.require(needs);
  needs.key_norm = needs.key_norm || score_.uses(Quantity::knorm);
}

std::vector<double> ExpressionRanking::statistic(const SlotState& slots) const {
  return score_.reads_rows() ? std::vector<double>{} : evaluate(slots, nullptr, nullptr);
}

std::vector<double> ExpressionRanking::evaluate(const SlotState& slots, const KeyGeometry* rows, const HeadView* notes) const {
  std::array<std::vector<double>, kCount> values;
  std::array<std::span<const double>, kCount> columns;
  for (std::size_t i = 0; i < kCount; ++i) {
    if (!score_.expression().uses(i)) continue;
    values[i] = column(static_cast<Quantity>(i), slots, rows);
    KVSCOPE_ASSERT(values[i].size() == slots.pos.size());
    columns[i] = values[i];
    if (notes) notes->note(kQuantities[i].name.data(), values[i]);
  }
  std::vector<double> out = score_.expression().evaluate(columns, slots.pos.size());
  const bool constant = std::ranges::all_of(values, &std::vector<double>::empty);
  if (notes && constant) notes->note("score", out);  // that there is one is known by its terms: it may be no number
  return out;
}

std::vector<double> ExpressionRanking::column(Quantity q, const SlotState& slots, const KeyGeometry* rows) const {
  const std::size_t n = slots.pos.size();
  switch (q) {
    case Quantity::sum:
      return slots.sum;
    case Quantity::mean:
      return MeanRanking().statistic(slots);
    case Quantity::last: {
      if (slots.rows.rows() == 0) return std::vector<double>(n, kNotAvailable);
      return slots.rows.row(slots.rows.rows() - 1);
    }
    case Quantity::ema:
      return ema_.statistic(slots);
    case Quantity::votes:
      return {slots.votes.begin(), slots.votes.end()};
    case Quantity::age: {
      std::vector<double> age;
      for (const int pos : slots.pos) age.push_back(slots.pos.back() - pos + 1);  // the newest token is there when a step is judged
      return age;
    }
    case Quantity::position:
      return {slots.pos.begin(), slots.pos.end()};
    case Quantity::knorm:
      return slots.key_norm;
    case Quantity::vnorm:
      return rows->value_l2();
    case Quantity::wo_norm:
      return rows->value_norms();
    case Quantity::similarity:
      return nearest_cosines(*rows, n);
  }
  KVSCOPE_ASSERT(false);
}

}  // namespace kvscope
