// SPDX-License-Identifier: Apache-2.0
#include "policy/rankings/non_causal_ranking.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/not_available.h"
#include "core/vector_math.h"
#include "policy/decision.h"
#include "policy/rankings/rows.h"

namespace kvscope {

namespace {

/// Of eight numbers at a time: one after the other each would wait for the one before.
constexpr std::size_t kAtOnce = 8;

double largest_of(std::span<const double> x) {
  double top[kAtOnce];
  std::fill_n(top, kAtOnce, x.front());
  std::size_t i = 0;
  for (; i + kAtOnce <= x.size(); i += kAtOnce)
    for (std::size_t j = 0; j < kAtOnce; ++j) top[j] = top[j] < x[i + j] ? x[i + j] : top[j];
  for (; i < x.size(); ++i) top[0] = std::max(top[0], x[i]);
  return *std::max_element(top, top + kAtOnce);
}

}  // namespace

void add_chunk_attention(std::span<const double> queries, std::span<const double> keys, std::size_t n, std::size_t chunk,
                         std::span<double> sums) {
  const std::size_t width = n > 0 ? keys.size() / n : 0;
  constexpr std::size_t kQueries = 16;  // whose logits are made together
  std::vector<double> rows(kQueries * std::min(chunk, n)), transposed(width * std::min(chunk, n));
  for (std::size_t first = 0; first < n; first += chunk) {
    const std::size_t size = std::min(chunk, n - first);
    const auto filled = static_cast<double>(chunk - size);
    const auto by_channel = std::span(transposed).first(width * size);
    for (std::size_t k = 0; k < size; ++k)
      for (std::size_t i = 0; i < width; ++i) by_channel[i * size + k] = keys[(first + k) * width + i];
    for (std::size_t q = 0; q < size; ++q) {
      if (q % kQueries == 0) {
        const std::size_t count = std::min(kQueries, size - q);
        matrix_products(queries.subspan((first + q) * width, count * width), by_channel, size, std::span(rows).first(count * size));
      }
      const auto logits = std::span(rows).subspan(q % kQueries * size, size);
      const double largest = largest_of(logits), top = filled > 0 ? std::max(largest, 0.0) : largest;
      for (double& z : logits) z -= top;
      exp_all(logits);
      const double sum = sum_of(logits) + (filled > 0 ? filled * std::exp(-top) : 0.0);
      add_scaled(sums.subspan(first, size), 1 / sum, logits.data());
    }
    for (std::size_t k = 0; k < size; ++k) sums[first + k] += filled / static_cast<double>(chunk);
  }
}

std::vector<double> NonCausalRanking::attention(const HeadView& head, std::size_t first, std::size_t end,
                                                std::vector<double>* alone) const {
  KVSCOPE_ASSERT(head.queries);
  const std::size_t n = head.slots->pos.size(), count = end - first;
  const std::vector<double> keys = all_keys(head), norms = head.keys->value_l2(), asked = head.queries->rows(/*rotated=*/true);
  const std::size_t width = keys.size() / n, group = asked.size() / keys.size();
  std::vector<double> queries(count * width), sums(count, 0.0), score(count);
  for (std::size_t g = 0; g < group; ++g) {
    for (std::size_t i = 0; i < count; ++i)
      std::copy_n(asked.begin() + static_cast<std::ptrdiff_t>(((first + i) * group + g) * width), width,
                  queries.begin() + static_cast<std::ptrdiff_t>(i * width));
    add_chunk_attention(queries, std::span(keys).subspan(first * width, count * width), count, static_cast<std::size_t>(chunk_), sums);
  }
  for (std::size_t i = 0; i < count; ++i) sums[i] *= norms[first + i] / static_cast<double>(group);
  if (alone) *alone = sums;
  for (std::size_t i = 0; i < count; ++i)  // beyond the ends there are zeros
    score[i] = ((i > 0 ? sums[i - 1] : 0.0) + sums[i] + (i + 1 < count ? sums[i + 1] : 0.0)) / 3;
  return score;
}

std::vector<double> NonCausalRanking::score(const HeadView& head) const {
  std::vector<double> alone, out = attention(head, 0, head.slots->pos.size(), head.terms ? &alone : nullptr);
  if (head.terms) {
    head.note("its own", alone);
    head.note("mean of three", out);
  }
  return out;
}

void NonCausalRanking::finish_layer(std::span<HeadDecision* const> heads) const {
  std::vector<std::span<double>> scores;
  for (HeadDecision* head : heads) scores.emplace_back(head->score);
  const Moments layer = normalise_layer(scores);
  for (HeadDecision* head : heads) {
    head->view.note("layer's mean", std::vector(head->score.size(), layer.mean));
    head->view.note("deviation", std::vector(head->score.size(), layer.deviation));
  }
}

BlendedRanking::Middle BlendedRanking::middle(std::size_t n) const {
  const std::size_t first = std::min(n, static_cast<std::size_t>(sinks_));
  return {first, n - std::min(n - first, static_cast<std::size_t>(recent_))};
}

std::vector<double> BlendedRanking::score(const HeadView& head) const {
  const Middle m = middle(head.slots->pos.size());
  std::vector<double> score(head.slots->pos.size(), kNotAvailable);
  std::ranges::copy(leverage_.leverage(head, m.first, m.end), score.begin() + static_cast<std::ptrdiff_t>(m.first));
  return score;
}

void BlendedRanking::finish_layer(std::span<HeadDecision* const> heads) const {
  std::vector<std::vector<double>> attention;
  std::vector<std::span<double>> scores, attended;
  for (HeadDecision* head : heads) {
    const Middle m = middle(head->score.size());
    attention.push_back(attention_.attention(head->view, m.first, m.end));
    scores.push_back(std::span(head->score).subspan(m.first, m.end - m.first));
  }
  for (std::vector<double>& a : attention) attended.emplace_back(a);
  normalise_layer(scores);
  normalise_layer(attended);
  for (std::size_t h = 0; h < heads.size(); ++h) {
    const double removed = 1 - static_cast<double>(slots_) / static_cast<double>(heads[h]->score.size());
    const double blend = std::isnan(blend_) ? removed : blend_;
    const std::size_t first = middle(heads[h]->score.size()).first;
    heads[h]->view.note("blend", std::vector(scores[h].size(), blend), first);
    heads[h]->view.note("leverage", scores[h], first);
    heads[h]->view.note("attention", attended[h], first);
    for (std::size_t i = 0; i < scores[h].size(); ++i) scores[h][i] = blend * scores[h][i] + attended[h][i];
  }
}

std::string BlendedRanking::equation() const {
  return "blend × leverage + attention, both standardised over the layer; attention of its stretch, times ‖v‖";
}

std::string NonCausalRanking::equation() const {
  return fmt::format(
      "(mean of three − layer's mean)/deviation: mean of its own and both neighbours' attention × ‖v‖; its own is what the {} tokens of its "
      "stretch pay it, later ones too",
      chunk_);
}

}  // namespace kvscope
