// SPDX-License-Identifier: Apache-2.0
// Which slot goes first by its numbers (slot_numbers.h), in double: what the kernels of a device are held against.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "backend/cpu/cpu_backend.h"
#include "core/error.h"

namespace kvscope::cpu {

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

std::size_t at(int i) { return static_cast<std::size_t>(i); }

const double* row_of(const SlotNumbers& numbers, int width, int i) { return numbers.rows.as<double>() + at(i) * at(width); }

double as_ranked(double x) { return std::isnan(x) ? -kInf : x; }

/// lshat_{g,i} of all slots, [n, group].
std::vector<double> log_scores(const LowestJob& job, int group) {
  const NumberRules& rules = *job.rules;
  std::vector<double> lshat;
  for (int i = 0; i < job.numbers->n_slots; ++i) {
    const double* const row = row_of(*job.numbers, rules.width, i);
    const double n = row[rules.ema_n], start_up = n == 0 ? 0.0 : std::log(1.0 - std::pow(rules.alpha, n));  // never scored: -inf stays
    for (int g = 0; g < group; ++g) lshat.push_back(row[rules.ema + g] - start_up);
  }
  return lshat;
}

/// ln Z_g of every query head. Slots without votes have one each.
void log_normalisers(const LowestJob& job, int group, std::span<const double> lshat, double* log_z) {
  const NumberRules& rules = *job.rules;
  for (int g = 0; g < group; ++g) {
    double top = -kInf, total = 0;
    for (int i = 0; i < job.numbers->n_slots; ++i) top = std::max(top, lshat[at(i * group + g)]);
    for (int i = 0; i < job.numbers->n_slots; ++i) {
      const double votes = rules.votes >= 0 ? row_of(*job.numbers, rules.width, i)[rules.votes] : 1.0;
      total += votes * std::exp(lshat[at(i * group + g)] - top);
    }
    log_z[g] = top + std::log(total);
  }
}

double window_score(const LowestJob& job, const double* row) {
  const NumberRules& rules = *job.rules;
  const int m = std::min(rules.ring_rows, job.steps);
  const double step = m > 1 ? (1.2 - 1.0) / (m - 1) : 0.0;
  double sum = 0, by_place = 0;
  for (int r = 0; r < m; ++r) {
    const double abar = row[place_in_ring(rules, job.steps - m + r)];
    sum += abar;
    by_place += r * abar;
  }
  return (sum + step * by_place) / std::min(row[rules.times], static_cast<double>(m));
}

double share(double votes, std::span<const double> lshat, const double* log_z) {
  double sum = 0;
  for (std::size_t g = 0; g < lshat.size(); ++g) sum += votes * std::exp(lshat[g] - log_z[g]) / static_cast<double>(lshat.size());
  return sum;
}

double pooled_score(const LowestJob& job, const SlotNumbers& numbers, int slot) {
  const NumberRules& rules = *job.rules;
  const int n = numbers.n_slots - job.pooling.unranked, half = job.pooling.kernel / 2;
  if (slot >= n) return std::numeric_limits<double>::quiet_NaN();
  const int first = std::max(0, slot - half), last = std::min(n - 1, slot + half);
  const auto mean = [&](int i) { return row_of(numbers, rules.width, i)[rules.ring_mean]; };
  double sum = 0, most = mean(slot);
  for (int i = first; i <= last; ++i) {
    sum += mean(i);
    most = most < mean(i) ? mean(i) : most;
  }
  return job.pooling.averages ? sum / (last - first + 1) : most;
}

/// What slots are worth to one head, and what decides between equal ones.
class HeadScores {
 public:
  /// log_z [group]: written where the rules have an EMA.
  HeadScores(const LowestJob& job, const SlotNumbers& numbers, int group, double* log_z)
      : job_(job), rules_(*job.rules), numbers_(numbers), group_(group), log_z_(log_z) {
    if (rules_.ema < 0) return;
    lshat_ = log_scores(job, group);
    log_normalisers(job, group, lshat_, log_z);
  }
  double score(int slot) const {
    const double* const row = row_of(numbers_, rules_.width, slot);
    switch (job_.score) {
      case SlotScore::sum:
        return row[rules_.sum];
      case SlotScore::mean:
        return row[rules_.sum] / row[rules_.times];
      case SlotScore::decayed:
        return row[rules_.decayed];
      case SlotScore::window:
        return window_score(job_, row);
      case SlotScore::ema_share:
        return share(row[rules_.votes], std::span(lshat_).subspan(at(slot * group_), at(group_)), log_z_);
      case SlotScore::key_norm:
        return -row[rules_.key_norm];
      case SlotScore::hits:
        return row[rules_.hit_count];
      case SlotScore::pooled:
        return pooled_score(job_, numbers_, slot);
    }
    return 0;
  }
  double tie_break(int slot) const { return job_.score == SlotScore::hits ? row_of(numbers_, rules_.width, slot)[rules_.sum] : 0; }

 private:
  const LowestJob& job_;
  const NumberRules& rules_;
  const SlotNumbers& numbers_;
  int group_;
  double* log_z_;
  std::vector<double> lshat_;
};

/// Mean over the heads that decide together, in their order.
template <class Number>
double mean_over(const std::vector<HeadScores>& heads, const Number& number) {
  double sum = number(heads.front());
  for (std::size_t h = 1; h < heads.size(); ++h) sum += number(heads[h]);
  return sum / static_cast<double>(heads.size());
}

/// Slots of [first, last) that are not left out.
std::vector<int> free_slots(const LowestJob& job) {
  std::vector<int> slots;
  auto left_out = job.left_out.begin();
  for (int i = job.first; i < job.last; ++i) {
    while (left_out != job.left_out.end() && *left_out < i) ++left_out;
    if (left_out == job.left_out.end() || *left_out != i) slots.push_back(i);
  }
  return slots;
}

double spread_of(const NumberRules& rules, const double* row) {
  const double mean = row[rules.sum] / row[rules.times], variance = row[rules.sum_sq] / row[rules.times] - mean * mean;
  return as_ranked(std::sqrt(variance < 0 ? 0.0 : variance));
}

/// Without the slots that are protected because their attention varies most; ascending as before.
void leave_out_steady(const LowestJob& job, std::vector<int>& slots) {
  if (job.steady <= 0) return;
  std::vector<std::pair<double, int>> by_spread;
  for (const int i : slots) by_spread.emplace_back(-spread_of(*job.rules, row_of(*job.numbers, job.rules->width, i)), i);
  std::ranges::sort(by_spread);
  by_spread.erase(by_spread.begin(), by_spread.begin() + std::min(job.steady, static_cast<int>(slots.size())));
  slots.clear();
  for (const auto& [spread, slot] : by_spread) slots.push_back(slot);
  std::ranges::sort(slots);
}

void lowest_of(const LowestJob& job, int group) {
  KVSCOPE_ASSERT(makes_sense(job));
  const int width = job.rules->width;
  double* const out = static_cast<double*>(job.out);
  std::fill_n(out + 2, group + 2 * width, 0.0);
  std::vector<HeadScores> heads;
  if (job.heads.empty()) heads.emplace_back(job, *job.numbers, group, out + 2);
  for (const SlotNumbers* head : job.heads) heads.emplace_back(job, *head, group, out + 2);
  std::vector<int> slots = free_slots(job);
  leave_out_steady(job, slots);
  out[0] = -1;
  out[1] = kInf;
  double tie = 0;  // of the lowest so far
  for (const int i : slots) {
    const double score = as_ranked(mean_over(heads, [i](const HeadScores& head) { return head.score(i); }));
    const double tie_break = mean_over(heads, [i](const HeadScores& head) { return head.tie_break(i); });
    if (score > out[1] || (score == out[1] && tie_break > tie)) continue;  // of equal ones the last stays here
    out[0] = i;
    out[1] = score;
    tie = tie_break;
  }
  const int slot = static_cast<int>(out[0]);
  for (int i = slot; slot >= 0 && i < std::min(slot + 2, job.numbers->n_slots); ++i)
    std::copy_n(row_of(*job.numbers, width, i), width, out + 2 + group + (i - slot) * width);
}

}  // namespace

template <class T>
void CpuBackend<T>::lowest(std::span<const LowestJob> jobs) {
  if (jobs.empty()) return;
  const int group = config_.group(), n_jobs = static_cast<int>(jobs.size());
  double work = 0;
  for (const LowestJob& job : jobs) {
    const int of_slot = job.rules->ema >= 0 ? 100 * group : job.rules->width;
    work += static_cast<double>(job.numbers->n_slots) * of_slot * static_cast<double>(std::max<std::size_t>(job.heads.size(), 1));
  }
  pool_.parallel_for(n_jobs, grain_for(work / n_jobs, 1), [&](int begin, int end) {
    for (int i = begin; i < end; ++i) lowest_of(jobs[at(i)], group);
  });
}

template void CpuBackend<float>::lowest(std::span<const LowestJob>);
template void CpuBackend<double>::lowest(std::span<const LowestJob>);

}  // namespace kvscope::cpu
