// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "backend/cuda/cuda_backend.h"
#include "core/error.h"

namespace kvscope::cuda {

namespace {

std::size_t bytes_of(int rows, int width) { return static_cast<std::size_t>(rows) * static_cast<std::size_t>(width) * sizeof(double); }

std::byte* row_of(const SlotNumbers& numbers, int width, int slot) {
  KVSCOPE_ASSERT(slot >= 0 && slot < numbers.n_slots);
  return static_cast<std::byte*>(const_cast<void*>(numbers.rows.data())) + bytes_of(slot, width);
}

/// Adds copies of these rows without a destination; those of slots that are neighbours are one.
void add_copies(const NumberRowsJob& job, int width, std::vector<CopyJob>& copies) {
  for (std::size_t i = 0; i < job.slots.size(); ++i) {
    const std::byte* const row = row_of(*job.numbers, width, job.slots[i]);
    if (i > 0 && job.slots[i] == job.slots[i - 1] + 1)
      copies.back().bytes += bytes_of(1, width);
    else
      copies.push_back({nullptr, row, bytes_of(1, width)});
  }
}

/// Slots that may go, if none is steady.
int count_free(const LowestJob& job) {
  if (job.last <= job.first) return 0;
  const auto before = [&](int slot) { return std::ranges::lower_bound(job.left_out, slot); };
  return job.last - job.first - static_cast<int>(before(job.last) - before(job.first));
}

}  // namespace

/// n slots, whose rows are still to be written.
SlotNumbers CudaBackend::room_for(int width, int n) {
  SlotNumbers numbers;
  numbers.n_slots = n;
  numbers.capacity = grown_capacity(0, n);
  numbers.rows = device_->allocate(bytes_of(numbers.capacity, width), "numbers of slots");
  return numbers;
}

SlotNumbers CudaBackend::make_numbers(int width, std::span<const double> rows) {
  KVSCOPE_ASSERT(width > 0 && rows.size() % static_cast<std::size_t>(width) == 0);
  SlotNumbers numbers = room_for(width, static_cast<int>(rows.size() / static_cast<std::size_t>(width)));
  upload(numbers.rows.data(), rows.data(), rows.size_bytes());
  return numbers;
}

SlotNumbers CudaBackend::clone_numbers(const SlotNumbers& numbers, int width) {
  SlotNumbers out = room_for(width, numbers.n_slots);
  const auto held = device_->lock();
  device_->copy(out.rows.data(), numbers.rows.data(), bytes_of(numbers.n_slots, width));
  return out;
}

/// Room for n slots. Returns the memory that was too small: its rows are still to be copied, at the next flush().
Buffer CudaBackend::grow(SlotNumbers& numbers, int width, int n) {
  if (n <= numbers.capacity) return {};
  numbers.capacity = grown_capacity(numbers.capacity, n);
  Buffer old = std::exchange(numbers.rows, device_->allocate(bytes_of(numbers.capacity, width), "numbers of slots"));
  device_->copy(numbers.rows.data(), old.data(), bytes_of(numbers.n_slots, width));
  return old;
}

void CudaBackend::observe(std::span<const ObserveJob> jobs) {
  if (jobs.empty()) return;
  const auto held = device_->lock();
  std::vector<ObserveStep> steps;
  std::vector<Buffer> outgrown;
  int most_n = 0;
  for (const ObserveJob& job : jobs) {
    const NumberRules& rules = *job.rules;
    SlotNumbers& numbers = *job.numbers;
    KVSCOPE_ASSERT(fits(rules, config_.group()) && job.n >= numbers.n_slots);
    KVSCOPE_ASSERT((!rules.reads_a() || job.probabilities) && (!rules.reads_z() || job.logits) && (rules.key_norm < 0 || job.key_norms));
    if (Buffer old = grow(numbers, rules.width, job.n)) outgrown.push_back(std::move(old));
    device_->writes(numbers.rows.data(), bytes_of(job.n, rules.width));
    steps.push_back({.rules = rules,
                     .rows = numbers.rows.as<double>(),
                     .probabilities = rules.reads_a() ? job.probabilities : nullptr,
                     .logits = rules.reads_z() ? job.logits : nullptr,
                     .n = job.n,
                     .n_known = std::exchange(numbers.n_slots, job.n),
                     .ring_place = rules.ring >= 0 ? job.step % rules.ring_rows : 0,
                     .ln_keep = std::log(rules.alpha),
                     .ln_new = std::log1p(-rules.alpha),
                     .key_norms = rules.key_norm >= 0 ? job.key_norms : nullptr,
                     .n_ring_rows = std::min(rules.ring_rows, job.step + 1),
                     .hit_place = rules.hits >= 0 ? job.step % rules.hit_rows : 0});
    most_n = std::max(most_n, job.n);
  }
  device_->flush();
  outgrown.clear();
  Upload up(*device_);
  const std::size_t at_steps = up.add(steps);
  up.send();
  cuda::observe(work(), dtype_, up.at<ObserveStep>(at_steps), static_cast<int>(steps.size()), most_n, config_.group());
}

void CudaBackend::lowest(std::span<const LowestJob> jobs) {
  if (jobs.empty()) return;
  const auto held = device_->lock();
  std::vector<LowestQuestion> questions;
  std::vector<int> left_out;
  std::vector<const double*> others;   // heads that decide with the first of their layer
  std::vector<Mirrors::Piece> wanted;  // by the host
  for (const LowestJob& job : jobs) {
    KVSCOPE_ASSERT(fits(*job.rules, config_.group()) && makes_sense(job));
    const std::span<const SlotNumbers* const> rest = job.heads.empty() ? job.heads : job.heads.subspan(1);
    questions.push_back({.rules = *job.rules,
                         .rows = job.numbers->rows.as<double>(),
                         .n = job.numbers->n_slots,
                         .steps = job.steps,
                         .first = job.first,
                         .last = job.last,
                         .first_left_out = static_cast<int>(left_out.size()),
                         .n_left_out = static_cast<int>(job.left_out.size()),
                         .score = job.score,
                         .out = static_cast<double*>(job.out),
                         .steady = std::min(job.steady, count_free(job)),
                         .pooling = job.pooling,
                         .first_other = static_cast<int>(others.size()),
                         .n_others = static_cast<int>(rest.size())});
    for (const SlotNumbers* head : rest) others.push_back(head->rows.as<double>());
    left_out.insert(left_out.end(), job.left_out.begin(), job.left_out.end());
    wanted.push_back({job.out, lowest_numbers(config_.group(), job.rules->width) * sizeof(double)});
  }
  device_->flush();
  Upload up(*device_);
  const std::size_t at_questions = up.add(questions), at_left_out = up.add(left_out), at_others = up.add(others);
  up.send();
  cuda::lowest(work(), up.at<LowestQuestion>(at_questions), static_cast<int>(questions.size()), up.at<int>(at_left_out),
               up.at<const double*>(at_others), config_.group());
  device_->bring(std::move(wanted));
}

void CudaBackend::number_rows(int width, std::span<const NumberRowsJob> jobs) {
  std::vector<CopyJob> copies;
  std::size_t n = 0;
  for (const NumberRowsJob& job : jobs) {
    KVSCOPE_ASSERT(job.out.size() == job.slots.size() * static_cast<std::size_t>(width));
    add_copies(job, width, copies);
    n += job.out.size();
  }
  if (copies.empty()) return;
  const auto held = device_->lock();
  device_->flush();
  auto* rows = static_cast<std::byte*>(device_->scratch(Device::Use::results, n * sizeof(double)));
  const void* const gathered = rows;
  for (CopyJob& copy : copies) {
    copy.to = rows;
    rows += copy.bytes;
  }
  device_->copy_together(copies);
  std::vector<double> host(n);
  device_->download(host.data(), gathered, n * sizeof(double));
  hand_out(host, jobs);
}

void CudaBackend::set_numbers(std::span<const SetNumbersJob> jobs) {
  if (jobs.empty()) return;
  const auto held = device_->lock();
  SlotChanges changes;
  for (const SetNumbersJob& job : jobs) changes.set(row_of(*job.numbers, static_cast<int>(job.row.size()), job.slot), std::as_bytes(job.row));
  device_->change(changes);
}

}  // namespace kvscope::cuda
