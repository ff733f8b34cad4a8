// SPDX-License-Identifier: Apache-2.0
#pragma once

// What slot_numbers.h says of the numbers of slots, written down once more: row by row, in long double where sums or logarithms are made.

#include <algorithm>
#include <optional>

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
  return r;
}

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

inline void observe_reference(const NumberRules& r, int group, int n, int step, const StepRows& rows_of_step, Rows& rows) {
  while (static_cast<int>(rows.size()) < n) rows.push_back(new_slot(r, group));
  for (int i = 0; i < n; ++i) {
    Numbers& row = rows[place(i)];
    if (r.times >= 0) row[place(r.times)] += 1;
    if (r.reads_a()) {
      const double abar = abar_of(r, rows_of_step.a, group, n, i);
      if (r.sum >= 0) row[place(r.sum)] += abar;
      if (r.decayed >= 0) row[place(r.decayed)] = r.lambda * row[place(r.decayed)] + abar;
      if (r.ring >= 0) row[place(r.ring + step % r.ring_rows)] = abar;
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

inline double score_reference(const NumberRules& r, const Rows& rows, int group, SlotScore score, int steps, int slot) {
  const Numbers& row = rows[place(slot)];
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
inline Lowest lowest_reference(std::span<const double> scores, int first, int last, std::span<const int> left_out = {}) {
  Lowest low;
  for (int i = first; i < last; ++i) {
    if (std::ranges::count(left_out, i) > 0) continue;
    const double score = std::isnan(scores[place(i)]) ? -INFINITY : scores[place(i)];
    if (score <= low.score) low = {i, score};
  }
  return low;
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

/// Numbers of one head in a backend, with the rows that observe() is given.
struct HeadNumbers {
  HeadNumbers(Backend& backend, const NumberRules& of, int of_group, std::span<const double> rows = {})
      : b(backend),
        rules(of),
        group(of_group),
        numbers(backend.make_numbers(of.width, rows)),
        out(backend.allocate(sizeof(double) * lowest_numbers(of_group, of.width))) {}

  /// The rows as the backend's dtype has them.
  StepRows give(const StepRows& step) {
    a.emplace(b, step.a);
    z.emplace(b, step.z);
    return {a->values(), z->values()};
  }
  ObserveJob observation(int n, int step) {
    return {&rules, &numbers, n, step, rules.reads_a() ? a->data() : nullptr, rules.reads_z() ? z->data() : nullptr};
  }
  /// Gives and takes; returns what give() returns.
  StepRows observe(int n, int step, const StepRows& rows) {
    const StepRows given = give(rows);
    const ObserveJob job = observation(n, step);
    b.observe({&job, 1});
    return given;
  }
  LowestJob question(SlotScore score, int steps, int first, int last, std::span<const int> left_out = {}) const {
    return {&rules, &numbers, score, steps, first, last, left_out, const_cast<void*>(out.data())};
  }
  Lowest lowest(SlotScore score, int steps, int first, int last, std::span<const int> left_out = {}) {
    const LowestJob job = question(score, steps, first, last, left_out);
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
  Buffer out;
  std::optional<Device> a, z;
  Numbers log_z, at_hand;  // of the last answer
};

inline constexpr SlotScore kAllScores[] = {SlotScore::sum, SlotScore::mean, SlotScore::decayed, SlotScore::window, SlotScore::ema_share};

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
