// SPDX-License-Identifier: Apache-2.0
#pragma once

// What slot_numbers.h says of the numbers of slots, written down once more: row by row, in long double where sums or logarithms are made.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <utility>

#include "backend/reference.h"

namespace kvscope::test {

using Rows = std::vector<Numbers>;  // of every slot

/// All numbers, in a mixed order.
inline NumberRules all_rules(int group, GroupReduce reduce, int ring_rows = 5) {
  NumberRules r{
      .width = 9 + group + ring_rows, .times = 4, .sum = 0, .decayed = 3, .ring = 8, .votes = 1, .extra = 6, .bias = 2, .ema_n = 7};
  r.ema = 9 + ring_rows;  // place 5 and the one between ring and EMA are nobody's
  r.group = reduce;
  r.lambda = 0.9;
  r.alpha = 0.8;
  r.ring_rows = ring_rows;
  const auto more = [&r](int n) { return std::exchange(r.width, r.width + n); };
  r.key_norm = more(1);
  r.hit_rows = 40 + ring_rows;  // more than one number holds
  r.hits = more(hit_numbers(r.hit_rows));
  r.ring_mean = more(1);
  r.hit_count = more(1);
  r.sum_sq = more(1);
  return r;
}

/// Of its key, for a slot that comes in with this step.
inline double norm_of_new(int slot, int step) { return 3 + 0.25 * ((7 * slot + 5 * step) % 11); }

inline std::size_t place(int i) { return static_cast<std::size_t>(i); }

/// Rows of one step: probabilities and logits [group, n].
struct StepRows {
  Numbers a, z;
};
inline StepRows random_step(int group, int n, unsigned seed) {
  StepRows s{random_numbers(place(group) * place(n), seed, 0.1), random_numbers(place(group) * place(n), seed + 1, 2.0)};
  for (double& x : s.a) x = std::abs(x);
  return s;
}

inline Numbers new_slot(const NumberRules& r, int group) {
  Numbers row(place(r.width), 0.0);
  if (r.votes >= 0) row[place(r.votes)] = 1;
  for (int g = 0; r.ema >= 0 && g < group; ++g) row[place(r.ema + g)] = -INFINITY;
  return row;
}

inline double abar_of(const NumberRules& r, const Numbers& a, int group, int n, int slot) {
  long double sum = 0, most = -INFINITY;
  for (int g = 0; g < group; ++g) {
    const double x = a[place(g * n + slot)];
    sum += x;
    most = std::max<long double>(most, x);
  }
  if (r.group == GroupReduce::max) return static_cast<double>(most);
  return static_cast<double>(r.group == GroupReduce::mean ? sum / group : sum);
}

inline double mean_of_ring(const NumberRules& r, const Numbers& row, int steps) {
  const int m = std::min(r.ring_rows, steps);
  long double sum = 0;
  for (int i = 1; i <= m; ++i) sum += row[place(r.ring + (steps - i) % r.ring_rows)];
  return static_cast<double>(sum / m);
}

/// By arithmetic on the whole number.
inline void set_hit(const NumberRules& r, Numbers& row, int step, bool hit) {
  const int bit = step % r.hit_rows;
  double& number = row[place(r.hits + bit / 32)];
  const double worth = std::exp2(bit % 32);
  const bool was = std::fmod(std::floor(number / worth), 2.0) == 1.0;
  number += (static_cast<int>(hit) - static_cast<int>(was)) * worth;
  row[place(r.hit_count)] += static_cast<int>(hit) - static_cast<int>(was);
}

inline void observe_reference(const NumberRules& r, int group, int n, int step, const StepRows& rows_of_step, Rows& rows) {
  while (static_cast<int>(rows.size()) < n) {
    rows.push_back(new_slot(r, group));
    if (r.key_norm >= 0) rows.back()[place(r.key_norm)] = norm_of_new(static_cast<int>(rows.size()) - 1, step);
  }
  for (int i = 0; i < n; ++i) {
    Numbers& row = rows[place(i)];
    if (r.times >= 0) row[place(r.times)] += 1;
    if (r.reads_a()) {
      const double abar = abar_of(r, rows_of_step.a, group, n, i);
      if (r.sum >= 0) row[place(r.sum)] += abar;
      if (r.decayed >= 0) row[place(r.decayed)] = r.lambda * row[place(r.decayed)] + abar;
      if (r.ring >= 0) row[place(r.ring + step % r.ring_rows)] = abar;
      if (r.sum_sq >= 0) row[place(r.sum_sq)] += abar * abar;
      if (r.ring_mean >= 0) row[place(r.ring_mean)] = mean_of_ring(r, row, step + 1);
      if (r.hits >= 0) set_hit(r, row, step, abar >= 1.0 / n);
    }
    for (int g = 0; r.ema >= 0 && g < group; ++g) {
      const long double z = rows_of_step.z[place(g * n + i)] + (r.extra >= 0 ? row[place(r.extra)] : 0.0);
      if (z == -INFINITY) continue;
      double& log_score = row[place(r.ema + g)];
      log_score = static_cast<double>(std::log(static_cast<long double>(r.alpha) * std::exp(static_cast<long double>(log_score)) +
                                               (1 - static_cast<long double>(r.alpha)) * std::exp(z)));
      if (g == 0) row[place(r.ema_n)] += 1;
    }
  }
}

inline long double predicted(const NumberRules& r, const Numbers& row, int g) {
  const double n = row[place(r.ema_n)];
  const long double log_score = row[place(r.ema + g)];
  return n == 0 ? log_score : log_score - std::log(1 - std::pow(static_cast<long double>(r.alpha), n));
}

inline double log_normaliser_reference(const NumberRules& r, const Rows& rows, int g) {
  long double sum = 0;
  for (const Numbers& row : rows) sum += row[place(r.votes)] * std::exp(predicted(r, row, g));
  return static_cast<double>(std::log(sum));
}

inline double pooled_reference(const NumberRules& r, const Rows& rows, const Pooling& pooling, int slot) {
  const int n = static_cast<int>(rows.size()) - pooling.unranked;
  if (slot >= n || std::isnan(rows[place(slot)][place(r.ring_mean)])) return std::nan("");
  long double sum = 0, most = -INFINITY;
  int seen = 0;
  for (int i = slot - pooling.kernel / 2; i <= slot + pooling.kernel / 2; ++i) {
    if (i < 0 || i >= n) continue;
    const double x = rows[place(i)][place(r.ring_mean)];
    sum += x;
    if (x > most) most = x;
    ++seen;
  }
  return static_cast<double>(pooling.averages ? sum / seen : most);
}

inline double score_reference(const NumberRules& r, const Rows& rows, int group, SlotScore score, int steps, int slot,
                              const Pooling& pooling = {}) {
  const Numbers& row = rows[place(slot)];
  if (score == SlotScore::key_norm) return -row[place(r.key_norm)];
  if (score == SlotScore::hits) return row[place(r.hit_count)];
  if (score == SlotScore::pooled) return pooled_reference(r, rows, pooling, slot);
  if (score == SlotScore::sum) return row[place(r.sum)];
  if (score == SlotScore::mean) return row[place(r.sum)] / row[place(r.times)];
  if (score == SlotScore::decayed) return row[place(r.decayed)];
  long double sum = 0;
  if (score == SlotScore::window) {
    const int m = std::min(r.ring_rows, steps);
    for (int i = 0; i < m; ++i) {
      const long double weight = m > 1 ? 1 + 0.2L * i / (m - 1) : 1;
      sum += weight * row[place(r.ring + (steps - m + i) % r.ring_rows)];
    }
    return static_cast<double>(sum / std::min<long double>(row[place(r.times)], m));
  }
  for (int g = 0; g < group; ++g)
    sum += row[place(r.votes)] * std::exp(predicted(r, row, g) - static_cast<long double>(log_normaliser_reference(r, rows, g)));
  return static_cast<double>(sum / group);
}

struct Lowest {
  int slot = -1;
  double score = INFINITY;
  bool operator==(const Lowest&) const = default;
};
/// ties: of equal ones the lower; empty: the last.
inline Lowest lowest_reference(std::span<const double> scores, int first, int last, std::span<const int> left_out = {},
                               std::span<const double> ties = {}) {
  Lowest low;
  for (int i = first; i < last; ++i) {
    if (std::ranges::count(left_out, i) > 0) continue;
    const double score = std::isnan(scores[place(i)]) ? -INFINITY : scores[place(i)];
    const bool loses = score == low.score && low.slot >= 0 && !ties.empty() && ties[place(i)] > ties[place(low.slot)];
    if (score <= low.score && !loses) low = {i, score};
  }
  return low;
}
/// What decides between slots of equal score.
inline Numbers ties_of(const NumberRules& r, const Rows& rows, SlotScore score) {
  Numbers ties;
  for (const Numbers& row : rows)
    if (score == SlotScore::hits) ties.push_back(row[place(r.sum)]);
  return ties;
}

/// Of [first, last), less those left out, the k with the largest standard deviation and those left out, ascending.
inline std::vector<int> steady_reference(const NumberRules& r, const Rows& rows, int k, int first, int last, std::vector<int> left_out = {}) {
  std::vector<std::pair<double, int>> free;
  for (int i = first; i < last; ++i) {
    if (std::ranges::count(left_out, i) > 0) continue;
    const Numbers& row = rows[place(i)];
    const double n = row[place(r.times)], mean = row[place(r.sum)] / n;
    const double deviation = std::sqrt(std::max(0.0, row[place(r.sum_sq)] / n - mean * mean));
    free.emplace_back(std::isnan(mean) || std::isnan(row[place(r.sum_sq)]) ? INFINITY : -deviation, i);
  }
  std::ranges::sort(free);
  for (int i = 0; i < std::min(k, static_cast<int>(free.size())); ++i) left_out.push_back(free[place(i)].second);
  std::ranges::sort(left_out);
  return left_out;
}

/// Equal but for roundings; of logarithms, which may be near zero, too.
inline bool same_number(double x, double y) {
  if (std::isnan(x) || std::isnan(y)) return std::isnan(x) && std::isnan(y);
  return x == y || std::abs(x - y) <= 1e-12 * std::max(std::abs(y), 1e-2);
}
inline testing::AssertionResult same_numbers(std::span<const double> x, std::span<const double> y) {
  if (x.size() != y.size()) return testing::AssertionFailure() << x.size() << " and " << y.size() << " numbers";
  for (std::size_t i = 0; i < x.size(); ++i)
    if (!same_number(x[i], y[i])) return testing::AssertionFailure() << "number " << i << ": " << x[i] << " and " << y[i];
  return testing::AssertionSuccess();
}

inline constexpr std::size_t kMostNew = 8192;  // slots of one step

/// Numbers of one head in a backend, with the rows that observe() is given.
struct HeadNumbers {
  HeadNumbers(Backend& backend, const NumberRules& of, int of_group, std::span<const double> rows = {})
      : b(backend),
        rules(of),
        group(of_group),
        numbers(backend.make_numbers(of.width, rows)),
        out(backend.allocate(sizeof(double) * lowest_numbers(of_group, of.width))),
        norms(backend.allocate(sizeof(double) * kMostNew)) {}

  /// The rows as the backend's dtype has them.
  StepRows give(const StepRows& step) {
    a.emplace(b, step.a);
    z.emplace(b, step.z);
    return {a->values(), z->values()};
  }
  ObserveJob observation(int n, int step) {
    return observation(n, step, rules.reads_a() ? a->data() : nullptr, rules.reads_z() ? z->data() : nullptr);
  }
  ObserveJob observation(int n, int step, const void* probabilities, const void* logits) {
    Numbers of_new;
    for (int i = numbers.n_slots; i < n && rules.key_norm >= 0; ++i) of_new.push_back(norm_of_new(i, step));
    EXPECT_LE(of_new.size(), kMostNew);
    if (!of_new.empty()) b.upload(norms.data(), of_new.data(), of_new.size() * sizeof(double));
    return {&rules, &numbers, n, step, probabilities, logits, rules.key_norm >= 0 ? norms.as<double>() : nullptr};
  }
  /// Gives and takes; returns what give() returns.
  StepRows observe(int n, int step, const StepRows& rows) {
    const StepRows given = give(rows);
    const ObserveJob job = observation(n, step);
    b.observe({&job, 1});
    return given;
  }
  LowestJob question(SlotScore score, int steps, int first, int last, std::span<const int> left_out = {}) const {
    return {&rules, &numbers, score, steps, first, last, left_out, const_cast<void*>(out.data()), 0, pooling};
  }
  Lowest lowest(SlotScore score, int steps, int first, int last, std::span<const int> left_out = {}) {
    return ask(question(score, steps, first, last, left_out));
  }
  Lowest ask(const LowestJob& job) {
    b.lowest({&job, 1});
    const Lowest low = answer();
    expect_at_hand(low.slot);
    return low;
  }
  /// Of the last question; log_z too.
  Lowest answer() {
    Numbers host(lowest_numbers(group, rules.width));
    b.download(host.data(), out.data(), host.size() * sizeof(double));
    log_z.assign(host.begin() + 2, host.begin() + 2 + group);
    at_hand.assign(host.begin() + 2 + group, host.end());
    return {static_cast<int>(host[0]), host[1]};
  }
  /// With the answer come the numbers of the slot and of the one after it.
  void expect_at_hand(int slot) {
    Numbers expected(2 * place(rules.width), 0.0);
    std::vector<int> slots;
    for (int i = slot; slot >= 0 && i < std::min(slot + 2, numbers.n_slots); ++i) slots.push_back(i);
    const NumberRowsJob job{&numbers, slots, std::span(expected).first(slots.size() * place(rules.width))};
    b.number_rows(rules.width, {&job, 1});
    EXPECT_TRUE(same_numbers(at_hand, expected)) << "slot " << slot;
  }
  Rows rows() {
    std::vector<int> slots;
    for (int i = 0; i < numbers.n_slots; ++i) slots.push_back(i);
    Numbers all(slots.size() * place(rules.width));
    const NumberRowsJob job{&numbers, slots, all};
    b.number_rows(rules.width, {&job, 1});
    Rows result;
    for (std::size_t i = 0; i < slots.size(); ++i)
      result.emplace_back(all.begin() + static_cast<long>(i) * rules.width, all.begin() + static_cast<long>(i + 1) * rules.width);
    return result;
  }
  void set(int slot, const Numbers& row) {
    const SetNumbersJob job{&numbers, slot, row};
    b.set_numbers({&job, 1});
  }
  void remove(const std::vector<int>& gone) {
    const RemovalJob job{.gone = gone, .numbers = &numbers, .number_width = rules.width};
    b.remove_slots({&job, 1});
  }

  Backend& b;
  NumberRules rules;
  int group;
  SlotNumbers numbers;
  Buffer out, norms;
  Pooling pooling{.kernel = 5};
  std::optional<Device> a, z;
  Numbers log_z, at_hand;  // of the last answer
};

inline constexpr SlotScore kAllScores[] = {SlotScore::sum, SlotScore::mean, SlotScore::decayed, SlotScore::window,
                                          SlotScore::ema_share, SlotScore::key_norm, SlotScore::hits, SlotScore::pooled};

/// n slots as they may look after some steps.
inline Rows random_rows(const NumberRules& r, int group, int n, unsigned seed) {
  Rows rows;
  std::mt19937 random(seed);
  for (int i = 0; i < n; ++i) {
    Numbers row = random_numbers(place(r.width), static_cast<unsigned>(random()), 0.5);
    for (double& x : row) x = std::abs(x);
    row[place(r.times)] = 1 + static_cast<int>(random() % 40);
    row[place(r.votes)] = 1 + static_cast<int>(random() % 5);
    row[place(r.ema_n)] = static_cast<int>(random() % 6);
    if (r.hits >= 0) row[place(r.hit_count)] = 0;
    for (int bit = 0; r.hits >= 0 && bit < r.hit_rows; bit += 32) {
      const auto all = static_cast<std::uint32_t>((std::uint64_t{1} << std::min(32, r.hit_rows - bit)) - 1);
      const std::uint32_t hits = static_cast<std::uint32_t>(random()) & all;
      row[place(r.hits + bit / 32)] = hits;
      row[place(r.hit_count)] += std::popcount(hits);
    }
    for (int g = 0; g < group; ++g) row[place(r.ema + g)] = row[place(r.ema_n)] == 0 ? -INFINITY : 3 * row[place(r.ema + g)] - 2;
    rows.push_back(std::move(row));
  }
  return rows;
}
inline Numbers flat(const Rows& rows) {
  Numbers out;
  for (const Numbers& row : rows) out.insert(out.end(), row.begin(), row.end());
  return out;
}

}  // namespace kvscope::test
