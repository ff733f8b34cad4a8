// SPDX-License-Identifier: Apache-2.0
#include "policy/statistics/head_numbers.h"

#include <algorithm>
#include <cstdint>

#include "core/error.h"
#include "policy/statistics/statistics.h"

namespace kvscope {
namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

/// body(number in the row of slot i, number in the state) for every statistic that both have as one number of a slot.
template <class State, class Body>
void for_each_number(State& state, const NumberRules& rules, const Body& body) {
  const auto each = [&](int place, auto& statistic) {
    for (std::size_t i = 0; place >= 0 && i < statistic.size(); ++i) body(i, place, statistic[i]);
  };
  each(rules.times, state.times);
  each(rules.sum, state.sum);
  each(rules.sum_sq, state.sum_sq);
  each(rules.key_norm, state.key_norm);
  each(rules.decayed, state.decayed);
  each(rules.votes, state.votes);
  each(rules.extra, state.extra);
  each(rules.ema_n, state.ema_n);
}

/// Bits of a number that holds hits.
std::uint32_t bits_of(double number) { return static_cast<std::uint32_t>(number); }

/// The hits of a slot as its numbers, after `steps` rows.
void take_hits(const HitHistory& hits, int slot, const NumberRules& rules, int steps, double* row) {
  for (int r = 0; r < hits.rows(); ++r) {
    const int place = (steps - hits.rows() + r) % rules.hit_rows;
    double& number = row[rules.hits + place / kHitBits];
    if (hits.hit(slot, r)) number = bits_of(number) | std::uint32_t{1} << (place % kHitBits);
  }
  row[rules.hit_count] = hits.counts()[at(slot)];
}

/// The other way round, of all slots: rows [n, width].
HitHistory hits_of(const NumberRules& rules, std::span<const double> rows, int steps) {
  constexpr int kTogether = 64;
  const std::size_t width = at(rules.width), n = rows.size() / width;
  const int n_rows = std::min(steps, rules.hit_rows);
  HitHistory hits(rules.hit_rows, static_cast<int>(n));
  std::vector<std::uint64_t> some(n);
  for (int first = 0; first < n_rows; first += kTogether) {
    const int count = std::min(kTogether, n_rows - first);
    std::ranges::fill(some, 0);
    for (int r = 0; r < count; ++r) {
      const int place = (steps - n_rows + first + r) % rules.hit_rows;
      for (std::size_t i = 0; i < n; ++i) {
        const std::uint32_t bits = bits_of(rows[i * width + at(rules.hits + place / kHitBits)]);
        some[i] |= std::uint64_t{(bits >> (place % kHitBits)) & 1} << r;
      }
    }
    hits.push_rows(some, count);
  }
  return hits;
}

}  // namespace

std::optional<NumberRules> number_rules(const StatNeeds& needs, int group, Bias bias) {
  const bool others = needs.keep_z_rows || needs.z_now || needs.coming_queries > 0;
  if (others || !(needs.reads_a() || needs.ema || needs.key_norm)) return std::nullopt;
  NumberRules rules{.group = needs.group, .lambda = needs.lambda, .alpha = needs.ema_alpha, .ring_rows = needs.rows};
  const auto place = [&](bool wanted, int n = 1) {
    const int first = rules.width;
    rules.width += wanted ? n : 0;
    return wanted ? first : -1;
  };
  rules.times = place(needs.reads_a());
  rules.sum = place(needs.sum);
  rules.decayed = place(needs.decayed);
  rules.votes = place(needs.ema || bias.vote_factor != 0);
  rules.extra = place(needs.ema);
  rules.bias = place(bias.vote_factor != 0);
  rules.ema_n = place(needs.ema);
  rules.ema = place(needs.ema, group);
  rules.ring = place(needs.rows > 0, needs.rows);
  rules.sum_sq = place(needs.sum_sq);
  rules.key_norm = place(needs.key_norm);
  rules.ring_mean = place(needs.rows > 0 && needs.row_sums == RowSums::plain);
  rules.hit_rows = needs.hits;
  rules.hits = place(needs.hits > 0, hit_numbers(needs.hits));
  rules.hit_count = place(needs.hits > 0);
  return rules;
}

StatNeeds without_numbers(const StatNeeds& needs) { return {.group = needs.group, .residual = needs.residual}; }

std::vector<double> take_numbers(SlotState& state, const StatNeeds& needs, const NumberRules& rules, int group, Bias bias, int steps) {
  const std::size_t n = state.pos.size(), width = at(rules.width);
  std::vector<double> rows(n * width);
  for_each_number(state, rules, [&](std::size_t i, int place, const auto& x) { rows[i * width + at(place)] = x; });
  for (std::size_t i = 0; i < n; ++i) {
    double* const row = rows.data() + i * width;
    if (rules.bias >= 0) row[rules.bias] = bias_of_slot(state.votes[i], state.extra[i], bias);
    for (int g = 0; rules.ema >= 0 && g < group; ++g) row[rules.ema + g] = state.ema[i * at(group) + at(g)];
    if (rules.hits >= 0) take_hits(state.hits, static_cast<int>(i), rules, steps, row);
  }
  const int n_rows = state.rows.rows();
  for (int r = 0; rules.ring >= 0 && r < n_rows; ++r) {
    const std::vector<double> row = state.rows.row(r);
    for (std::size_t i = 0; i < n; ++i) rows[i * width + at(place_in_ring(rules, steps - n_rows + r))] = row[i];
  }
  SlotState left;
  left.pos = std::move(state.pos);
  left.votes = std::move(state.votes);
  left.extra = std::move(state.extra);
  if (needs.residual) left.residual = std::move(state.residual);
  left.outside = state.outside;
  left.evicted_votes = state.evicted_votes;
  left.evicted = std::move(state.evicted);
  left.united = std::move(state.united);
  state = std::move(left);
  return rows;
}

void give_numbers(SlotState& state, const StatNeeds& needs, const NumberRules& rules, int group, std::span<const double> rows, int steps) {
  const std::size_t n = state.pos.size(), width = at(rules.width);
  KVSCOPE_ASSERT(rows.size() == n * width);
  state.times.resize(needs.reads_a() ? n : 0);
  state.sum.resize(needs.sum ? n : 0);
  state.sum_sq.resize(needs.sum_sq ? n : 0);
  state.key_norm.resize(needs.key_norm ? n : 0);
  state.decayed.resize(needs.decayed ? n : 0);
  state.ema_n.resize(needs.ema ? n : 0);
  state.ema.resize(needs.ema ? n * at(group) : 0);
  const auto number = [&](std::size_t i, int place) { return rows[i * width + at(place)]; };
  for_each_number(state, rules, [&](std::size_t i, int place, auto& x) { x = static_cast<std::remove_reference_t<decltype(x)>>(number(i, place)); });
  for (std::size_t x = 0; x < state.ema.size(); ++x) state.ema[x] = number(x / at(group), rules.ema + static_cast<int>(x % at(group)));
  if (rules.hits >= 0) state.hits = hits_of(rules, rows, steps);
  if (rules.ring < 0) return;
  state.rows = RowRing(needs.rows, 1, needs.row_sums);
  const int n_rows = std::min(steps, rules.ring_rows);
  std::vector<double> ring;
  for (int r = 0; r < n_rows; ++r)
    for (std::size_t i = 0; i < n; ++i) ring.push_back(number(i, place_in_ring(rules, steps - n_rows + r)));
  if (!ring.empty()) state.rows.load(ring, n_rows);
}

void update_numbers(std::span<double> row, const SlotState& state, const NumberRules& rules, Bias bias, const Plan& plan, const Merge& merge) {
  const auto put = [&](int place, double x) {
    if (place >= 0) row[at(place)] = x;
  };
  double votes = state.votes[at(merge.target)];
  for (const Removal& r : plan.removals)
    if (r.target == merge.target) votes += state.votes[at(r.slot)];
  const double extra = merge.extra.value_or(state.extra[at(merge.target)]);
  put(rules.votes, votes);
  put(rules.extra, extra);
  put(rules.bias, bias_of_slot(votes, extra, bias));
  if (merge.decayed) put(rules.decayed, *merge.decayed);
  if (merge.log_score.empty() || rules.ema < 0) return;
  const double start = EmaStart(rules.alpha).at(static_cast<int>(row[at(rules.ema_n)]));
  for (std::size_t g = 0; g < merge.log_score.size(); ++g) row[at(rules.ema) + g] = merge.log_score[g] + start;
}

double mean_attention(const HeadView& head, int slot) {
  const SlotState& slots = *head.slots;
  if (!head.numbers) return slots.sum[at(slot)] / slots.times[at(slot)];
  const std::span<const double> row = head.numbers->row(slot);
  const NumberRules& rules = head.numbers->rules();
  return row[at(rules.sum)] / row[at(rules.times)];
}

double decayed_attention(const HeadView& head, int slot) {
  return head.numbers ? head.numbers->row(slot)[at(head.numbers->rules().decayed)] : head.slots->decayed[at(slot)];
}

void append_log_scores(const HeadNumbers& numbers, int slot, int group, const EmaStart& start, std::vector<double>& lshat) {
  const NumberRules& rules = numbers.rules();
  const std::span<const double> row = numbers.row(slot);
  const int n = static_cast<int>(row[at(rules.ema_n)]);
  const double correction = n == 0 ? 0.0 : start(n);  // never scored: -inf
  for (int g = 0; g < group; ++g) lshat.push_back(row[at(rules.ema + g)] - correction);
}

}  // namespace kvscope
