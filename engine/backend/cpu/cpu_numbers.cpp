// SPDX-License-Identifier: Apache-2.0
// Numbers of slots in double, as the formulas of slot_numbers.h say: what the kernels of a device are held against.
#include <algorithm>
#include <cmath>
#include <cstdint>
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

void start_slot(const NumberRules& rules, int group, const double* key_norm, double* row) {
  std::fill_n(row, rules.width, 0.0);
  if (rules.votes >= 0) row[rules.votes] = 1;
  if (rules.ema >= 0) std::fill_n(row + rules.ema, group, -kInf);
  if (rules.key_norm >= 0) row[rules.key_norm] = *key_norm;
}

double mean_of_ring(const NumberRules& rules, int n_rows, const double* row) {
  double sum = 0;
  for (int r = 0; r < n_rows; ++r) sum += row[rules.ring + r];
  return sum / n_rows;
}

void note_hit(const NumberRules& rules, int step, bool hit, double* row) {
  const int place = step % rules.hit_rows;
  double& number = row[rules.hits + place / kHitBits];
  const auto bits = static_cast<std::uint32_t>(number), bit = std::uint32_t{1} << (place % kHitBits);
  row[rules.hit_count] += static_cast<int>(hit) - static_cast<int>((bits & bit) != 0);
  number = hit ? bits | bit : bits & ~bit;
}

void take_attention(const NumberRules& rules, int n, int step, double abar, double* row) {
  if (rules.sum >= 0) row[rules.sum] += abar;
  if (rules.sum_sq >= 0) row[rules.sum_sq] += abar * abar;
  if (rules.decayed >= 0) row[rules.decayed] = rules.lambda * row[rules.decayed] + abar;
  if (rules.ring >= 0) row[place_in_ring(rules, step)] = abar;
  if (rules.ring_mean >= 0) row[rules.ring_mean] = mean_of_ring(rules, std::min(rules.ring_rows, step + 1), row);
  if (rules.hits >= 0) note_hit(rules, step, abar >= 1.0 / n, row);
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
  KVSCOPE_ASSERT((!rules.reads_a() || job.probabilities) && (!rules.reads_z() || job.logits) && (rules.key_norm < 0 || job.key_norms));
  grow(numbers, rules.width, n);
  for (int i = numbers.n_slots; i < n; ++i)
    start_slot(rules, group, job.key_norms ? job.key_norms + (i - numbers.n_slots) : nullptr, row_of(numbers, rules.width, i));
  numbers.n_slots = n;
  const T *const a = static_cast<const T*>(job.probabilities), *const z = static_cast<const T*>(job.logits);
  const double ln_keep = std::log(rules.alpha), ln_new = std::log1p(-rules.alpha);
  for (int i = 0; i < n; ++i) {
    double* const row = row_of(numbers, rules.width, i);
    if (rules.times >= 0) row[rules.times] += 1;
    if (rules.reads_a()) take_attention(rules, n, job.step, reduced(a + i, at(n), group, rules.group), row);
    if (rules.reads_z()) take_logits(rules, ln_keep, ln_new, group, z + i, at(n), row);
  }
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
  template void CpuBackend<T>::number_rows(int, std::span<const NumberRowsJob>);  \
  template void CpuBackend<T>::set_numbers(std::span<const SetNumbersJob>)
KVSCOPE_NUMBERS(float);
KVSCOPE_NUMBERS(double);
#undef KVSCOPE_NUMBERS

}  // namespace kvscope::cpu
