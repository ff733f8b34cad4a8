// SPDX-License-Identifier: Apache-2.0
// Numbers of slots in double, as the formulas of slot_numbers.h say: what the kernels of a device are held against.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "backend/cpu/cpu_backend.h"
#include "core/error.h"
#include "core/slot_runs.h"

namespace kvscope::cpu {

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

std::size_t at(int i) { return static_cast<std::size_t>(i); }

/// Numbers of slot i.
double* row_of(SlotNumbers& numbers, int width, int i) { return numbers.rows.as<double>() + at(i) * at(width); }
const double* row_of(const SlotNumbers& numbers, int width, int i) { return numbers.rows.as<double>() + at(i) * at(width); }

template <class T>
double reduced(const T* a, std::size_t stride, int group, GroupReduce how) {
  double abar = static_cast<double>(a[0]);
  for (int g = 1; g < group; ++g) {
    const double x = static_cast<double>(a[stride * at(g)]);
    abar = how == GroupReduce::max ? std::max(abar, x) : abar + x;
  }
  return how == GroupReduce::mean ? abar / group : abar;
}

/// ln(e^x + e^y)
double log_add_exp(double x, double y) {
  const double top = x > y ? x : y, distance = x > y ? y - x : x - y;
  return top + std::log(1.0 + (x == y ? 1.0 : std::exp(distance)));  // both the same infinity too
}

void start_slot(const NumberRules& rules, int group, double* row) {
  std::fill_n(row, rules.width, 0.0);
  if (rules.votes >= 0) row[rules.votes] = 1;
  if (rules.ema >= 0) std::fill_n(row + rules.ema, group, -kInf);
}

void take_attention(const NumberRules& rules, int step, double abar, double* row) {
  if (rules.sum >= 0) row[rules.sum] += abar;
  if (rules.decayed >= 0) row[rules.decayed] = rules.lambda * row[rules.decayed] + abar;
  if (rules.ring >= 0) row[rules.ring + step % rules.ring_rows] = abar;
}

/// z: of the first query head; those of the others are `stride` apart.
template <class T>
void take_logits(const NumberRules& rules, double ln_keep, double ln_new, int group, const T* z, std::size_t stride, double* row) {
  const double extra = rules.extra >= 0 ? row[rules.extra] : 0.0;
  for (int g = 0; g < group; ++g) {
    const double now = static_cast<double>(z[stride * at(g)]) + extra;
    if (now == -kInf) continue;
    double& log_score = row[rules.ema + g];
    log_score = log_add_exp(log_score + ln_keep, now + ln_new);
    if (g == 0) row[rules.ema_n] += 1;
  }
}

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
    const double abar = row[rules.ring + (job.steps - m + r) % rules.ring_rows];
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

/// lshat [group], log_z [group]: where the rules have an EMA.
double score_of(const LowestJob& job, const double* row, std::span<const double> lshat, const double* log_z) {
  const NumberRules& rules = *job.rules;
  switch (job.score) {
    case SlotScore::sum:
      return row[rules.sum];
    case SlotScore::mean:
      return row[rules.sum] / row[rules.times];
    case SlotScore::decayed:
      return row[rules.decayed];
    case SlotScore::window:
      return window_score(job, row);
    case SlotScore::ema_share:
      return share(row[rules.votes], lshat, log_z);
  }
  return 0;
}

void lowest_of(const LowestJob& job, int group) {
  const NumberRules& rules = *job.rules;
  KVSCOPE_ASSERT(can_score(rules, job.score) && job.first >= 0 && job.last <= job.numbers->n_slots);
  double* const out = static_cast<double*>(job.out);
  std::fill_n(out + 2, group + 2 * rules.width, 0.0);
  std::vector<double> lshat;
  if (rules.ema >= 0) {
    lshat = log_scores(job, group);
    log_normalisers(job, group, lshat, out + 2);
  }
  out[0] = -1;
  out[1] = kInf;
  auto left_out = job.left_out.begin();
  for (int i = job.first; i < job.last; ++i) {
    while (left_out != job.left_out.end() && *left_out < i) ++left_out;
    if (left_out != job.left_out.end() && *left_out == i) continue;
    const std::span<const double> of_slot = lshat.empty() ? std::span<const double>() : std::span(lshat).subspan(at(i * group), at(group));
    const double score = score_of(job, row_of(*job.numbers, rules.width, i), of_slot, out + 2);
    const double number = std::isnan(score) ? -kInf : score;
    if (number > out[1]) continue;  // of equal ones the last stays here
    out[0] = i;
    out[1] = number;
  }
  const int slot = static_cast<int>(out[0]);
  for (int i = slot; slot >= 0 && i < std::min(slot + 2, job.numbers->n_slots); ++i)
    std::copy_n(row_of(*job.numbers, rules.width, i), rules.width, out + 2 + group + (i - slot) * rules.width);
}

}  // namespace

template <class T>
SlotNumbers CpuBackend<T>::make_numbers(int width, std::span<const double> rows) {
  KVSCOPE_ASSERT(width > 0 && rows.size() % at(width) == 0);
  SlotNumbers numbers;
  const int n = static_cast<int>(rows.size() / at(width));
  grow(numbers, width, n);
  if (n > 0) std::memcpy(numbers.rows.data(), rows.data(), rows.size_bytes());
  numbers.n_slots = n;
  return numbers;
}

template <class T>
SlotNumbers CpuBackend<T>::clone_numbers(const SlotNumbers& numbers, int width) {
  return make_numbers(width, {numbers.rows.as<double>(), at(numbers.n_slots) * at(width)});
}

/// Room for n slots.
template <class T>
void CpuBackend<T>::grow(SlotNumbers& numbers, int width, int n) {
  if (n <= numbers.capacity && numbers.capacity > 0) return;
  SlotNumbers larger;
  larger.capacity = grown_capacity(numbers.capacity, n);
  larger.n_slots = numbers.n_slots;
  larger.rows = allocate(at(larger.capacity) * at(width) * sizeof(double));
  if (numbers.n_slots > 0) std::memcpy(larger.rows.data(), numbers.rows.data(), at(numbers.n_slots) * at(width) * sizeof(double));
  numbers = std::move(larger);
}

template <class T>
void CpuBackend<T>::observe(std::span<const ObserveJob> jobs) {
  if (jobs.empty()) return;
  double work = 0;
  for (const ObserveJob& job : jobs) work += 16.0 * job.n * config_.group();
  const int n_jobs = static_cast<int>(jobs.size());
  pool_.parallel_for(n_jobs, grain_for(work / n_jobs, 1), [&](int begin, int end) {
    for (int i = begin; i < end; ++i) observe_one(jobs[at(i)]);
  });
}

template <class T>
void CpuBackend<T>::observe_one(const ObserveJob& job) {
  const NumberRules& rules = *job.rules;
  const int group = config_.group(), n = job.n;
  SlotNumbers& numbers = *job.numbers;
  KVSCOPE_ASSERT(fits(rules, group) && n >= numbers.n_slots);
  KVSCOPE_ASSERT((!rules.reads_a() || job.probabilities) && (!rules.reads_z() || job.logits));
  grow(numbers, rules.width, n);
  for (int i = numbers.n_slots; i < n; ++i) start_slot(rules, group, row_of(numbers, rules.width, i));
  numbers.n_slots = n;
  const T *const a = static_cast<const T*>(job.probabilities), *const z = static_cast<const T*>(job.logits);
  const double ln_keep = std::log(rules.alpha), ln_new = std::log1p(-rules.alpha);
  for (int i = 0; i < n; ++i) {
    double* const row = row_of(numbers, rules.width, i);
    if (rules.times >= 0) row[rules.times] += 1;
    if (rules.reads_a()) take_attention(rules, job.step, reduced(a + i, at(n), group, rules.group), row);
    if (rules.reads_z()) take_logits(rules, ln_keep, ln_new, group, z + i, at(n), row);
  }
}

template <class T>
void CpuBackend<T>::lowest(std::span<const LowestJob> jobs) {
  if (jobs.empty()) return;
  const int group = config_.group(), n_jobs = static_cast<int>(jobs.size());
  double work = 0;
  for (const LowestJob& job : jobs) {
    const int of_slot = job.rules->ema >= 0 ? 100 * group : job.rules->width;
    work += static_cast<double>(job.numbers->n_slots) * of_slot;
  }
  pool_.parallel_for(n_jobs, grain_for(work / n_jobs, 1), [&](int begin, int end) {
    for (int i = begin; i < end; ++i) lowest_of(jobs[at(i)], group);
  });
}

template <class T>
void CpuBackend<T>::number_rows(int width, std::span<const NumberRowsJob> jobs) {
  for (const NumberRowsJob& job : jobs) {
    KVSCOPE_ASSERT(job.out.size() == job.slots.size() * at(width));
    double* to = job.out.data();
    for (const int slot : job.slots) {
      KVSCOPE_ASSERT(slot >= 0 && slot < job.numbers->n_slots);
      to = std::copy_n(row_of(*job.numbers, width, slot), width, to);
    }
  }
}

template <class T>
void CpuBackend<T>::set_numbers(std::span<const SetNumbersJob> jobs) {
  for (const SetNumbersJob& job : jobs) {
    KVSCOPE_ASSERT(job.slot >= 0 && job.slot < job.numbers->n_slots);
    std::ranges::copy(job.row, row_of(*job.numbers, static_cast<int>(job.row.size()), job.slot));
  }
}

void remove_numbers(SlotNumbers& numbers, int width, std::span<const int> gone) {
  for (const SlotRun& r : runs_without(gone, numbers.n_slots))
    std::memmove(row_of(numbers, width, r.to), row_of(numbers, width, r.from), at(r.n) * at(width) * sizeof(double));
  numbers.n_slots -= static_cast<int>(gone.size());
}

#define KVSCOPE_NUMBERS(T)                                                        \
  template SlotNumbers CpuBackend<T>::make_numbers(int, std::span<const double>); \
  template SlotNumbers CpuBackend<T>::clone_numbers(const SlotNumbers&, int);     \
  template void CpuBackend<T>::observe(std::span<const ObserveJob>);              \
  template void CpuBackend<T>::lowest(std::span<const LowestJob>);                \
  template void CpuBackend<T>::number_rows(int, std::span<const NumberRowsJob>);  \
  template void CpuBackend<T>::set_numbers(std::span<const SetNumbersJob>)
KVSCOPE_NUMBERS(float);
KVSCOPE_NUMBERS(double);
#undef KVSCOPE_NUMBERS

}  // namespace kvscope::cpu
