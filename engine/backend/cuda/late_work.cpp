// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/late_work.h"

#include <algorithm>

#include "backend/cuda/device.h"

namespace kvscope::cuda {

namespace {

constexpr std::size_t kMostCopies = 16 * 1024, kMostRemovals = 16 * 1024, kMostGone = 1 << 20, kMostValues = 8 << 20;

}  // namespace

bool LateWork::depends(Kind kind, std::span<const Area> reads, std::span<const Area> writes) const {
  for (std::size_t i = static_cast<std::size_t>(kind); i < writes_.size(); ++i) {  // what is done before it does no harm
    for (const Area& a : reads)
      if (writes_[i].overlaps(a.data, a.bytes)) return true;
    for (const Area& a : writes)
      if (writes_[i].overlaps(a.data, a.bytes) || reads_[i].overlaps(a.data, a.bytes)) return true;
  }
  return false;
}

bool LateWork::empty() const {
  return copies_.empty() && sets_.empty() && removals_[0].jobs.empty() && removals_[1].jobs.empty() && orders_.empty() &&
         gathers_.empty() && first_step_.size() == 1;
}

bool LateWork::full() const {
  return copies_.size() + gathers_.size() >= kMostCopies || sets_.size() >= kMostCopies || values_.size() >= kMostValues ||
         removals_[0].jobs.size() + removals_[1].jobs.size() + orders_.size() >= kMostRemovals || gone_.size() >= kMostGone;
}

void LateWork::copy(void* to, const void* from, std::size_t bytes) {
  copies_.push_back({to, from, bytes});
  writes(Kind::copy).add(to, bytes);
  reads(Kind::copy).add(from, bytes);
}

void LateWork::set(void* to, std::span<const std::byte> bytes) {
  sets_.push_back({to, nullptr, bytes.size()});
  values_.insert(values_.end(), bytes.begin(), bytes.end());
  writes(Kind::set).add(to, bytes.size());
}

int LateWork::add_gone(std::span<const int> gone, int n) {
  for (std::size_t i = 0; i < gone.size(); ++i) gone_.push_back(gone[i] - gone.front() - static_cast<int>(i));
  return n - gone.front() - static_cast<int>(gone.size());
}

void LateWork::remove(void* k, void* v, std::size_t row_bytes, std::span<const int> gone, int n) {
  const int first = gone.front();
  const std::size_t offset = row_bytes * static_cast<std::size_t>(first), size = row_bytes * static_cast<std::size_t>(n - first);
  RemoveJob job{.k = static_cast<std::byte*>(k) + offset,
                .v = v ? static_cast<std::byte*>(v) + offset : nullptr,
                .row_bytes = static_cast<int>(row_bytes),
                .first_gone = static_cast<int>(gone_.size()),
                .n_gone = static_cast<int>(gone.size()),
                .n = add_gone(gone, n)};
  for (const void* rows : {job.k, job.v}) {
    if (!rows) continue;
    writes(Kind::remove).add(rows, size);
    reads(Kind::remove).add(rows, size);
  }
  Removals& removals = removals_[v ? 1 : 0];
  removals.jobs.push_back(job);
  removals.row_bytes |= row_bytes;
}

void LateWork::move_back(int* order, std::span<const int> gone, std::span<const int> entries, int n) {
  int* const from = order + gone.front();
  const int first_gone = static_cast<int>(gone_.size()), n_stay = add_gone(gone, n);
  gone_.insert(gone_.end(), entries.begin(), entries.end());
  orders_.push_back({from, first_gone, static_cast<int>(gone.size()), n_stay});
  const std::size_t size = sizeof(int) * static_cast<std::size_t>(n - gone.front());
  writes(Kind::remove).add(from, size);
  reads(Kind::remove).add(from, size);
}

void LateWork::gather(void* to, const Area& from, std::size_t row_bytes, const Area& order, int n) {
  gathers_.push_back({to, from.data, static_cast<const int*>(order.data), static_cast<int>(row_bytes), n});
  gathered_row_bytes_ |= row_bytes;
  writes(Kind::copy).add(to, row_bytes * static_cast<std::size_t>(n));
  for (const Area& area : {from, order}) reads(Kind::copy).add(area.data, area.bytes);
}

void LateWork::combine(std::span<const CombineStep> steps, std::span<const int> members, std::span<const double> weights,
                       std::span<const Area> caches) {
  for (CombineStep step : steps) {
    step.first_member += static_cast<int>(members_.size());
    step.first_weight += static_cast<int>(weights_.size());
    steps_.push_back(step);
  }
  first_step_.push_back(static_cast<int>(steps_.size()));
  members_.insert(members_.end(), members.begin(), members.end());
  weights_.insert(weights_.end(), weights.begin(), weights.end());
  for (const Area& a : caches) {
    writes(Kind::combine).add(a.data, a.bytes);
    reads(Kind::combine).add(a.data, a.bytes);
  }
}

/// The rows' own place is known once they are on the device: they go first.
void LateWork::start_sets(Device& device) const {
  if (sets_.empty()) return;
  Upload rows(device);
  const std::size_t at_values = rows.add(values_);
  rows.send();
  std::vector<CopyJob> copies = sets_;
  const std::byte* from = rows.at<std::byte>(at_values);
  for (CopyJob& copy : copies) {
    copy.from = from;
    from += copy.bytes;
  }
  device.copy_together(copies);
}

void LateWork::start(Device& device, DType type, int head_dim) {
  if (empty()) return;
  LateWork now;
  std::swap(now, *this);
  Upload up(device);
  const std::size_t at_steps = up.add(now.steps_), at_first = up.add(now.first_step_), at_members = up.add(now.members_),
                    at_weights = up.add(now.weights_), at_gone = up.add(now.gone_),
                    at_removals[] = {up.add(now.removals_[0].jobs), up.add(now.removals_[1].jobs)}, at_orders = up.add(now.orders_),
                    at_copies = up.add(now.copies_), at_gathers = up.add(now.gathers_);
  up.send();
  if (const int n = static_cast<int>(now.first_step_.size()) - 1; n > 0) {
    combine_slots(device.work(), type, up.at<CombineStep>(at_steps), up.at<int>(at_first), n, head_dim, up.at<int>(at_members),
                  up.at<double>(at_weights));
  }
  now.start_sets(device);
  for (const int matrices : {2, 1}) {
    const std::size_t i = static_cast<std::size_t>(matrices - 1);
    const Removals& removals = now.removals_[i];
    if (removals.jobs.empty()) continue;
    remove_rows(device.work(), up.at<RemoveJob>(at_removals[i]), static_cast<int>(removals.jobs.size()), matrices,
                static_cast<int>(removals.row_bytes), up.at<int>(at_gone));
  }
  if (!now.orders_.empty())
    cuda::move_back(device.work(), up.at<OrderJob>(at_orders), static_cast<int>(now.orders_.size()), up.at<int>(at_gone));
  if (!now.gathers_.empty()) {
    gather_rows(device.work(), up.at<GatherJob>(at_gathers), static_cast<int>(now.gathers_.size()),
                static_cast<int>(now.gathered_row_bytes_));
  }
  if (!now.copies_.empty()) copy_all(device.work(), up.at<CopyJob>(at_copies), static_cast<int>(now.copies_.size()));
}

}  // namespace kvscope::cuda
