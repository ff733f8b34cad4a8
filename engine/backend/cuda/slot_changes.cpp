// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/slot_changes.h"

#include "backend/cuda/device.h"

namespace kvscope::cuda {

void SlotChanges::set(void* to, std::span<const std::byte> bytes) {
  sets_.push_back({to, nullptr, bytes.size()});
  values_.insert(values_.end(), bytes.begin(), bytes.end());
}

int SlotChanges::add_gone(std::span<const int> gone, int n) {
  for (std::size_t i = 0; i < gone.size(); ++i) gone_.push_back(gone[i] - gone.front() - static_cast<int>(i));
  return n - gone.front() - static_cast<int>(gone.size());
}

void SlotChanges::remove(void* k, void* v, std::size_t row_bytes, std::span<const int> gone, int n) {
  const std::size_t offset = row_bytes * static_cast<std::size_t>(gone.front());
  RemoveJob job{.k = static_cast<std::byte*>(k) + offset,
                .v = static_cast<std::byte*>(v) + offset,
                .row_bytes = static_cast<int>(row_bytes),
                .first_gone = static_cast<int>(gone_.size()),
                .n_gone = static_cast<int>(gone.size())};
  job.n = add_gone(gone, n);
  removals_.push_back(job);
  removed_row_bytes_ |= row_bytes;
}

void SlotChanges::move_back(int* order, std::span<const int> gone, std::span<const int> entries, int n) {
  const int first_gone = static_cast<int>(gone_.size()), n_stay = add_gone(gone, n);
  gone_.insert(gone_.end(), entries.begin(), entries.end());
  orders_.push_back({order + gone.front(), first_gone, static_cast<int>(gone.size()), n_stay});
}

/// The rows' own place is known once they are on the device: they go first.
void SlotChanges::start_sets(Device& device) const {
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

void SlotChanges::start(Device& device, DType type, int head_dim) const {
  start_sets(device);
  Upload up(device);
  const std::size_t at_steps = up.add(steps_), at_first = up.add(first_step_), at_members = up.add(members_), at_weights = up.add(weights_),
                    at_gone = up.add(gone_), at_removals = up.add(removals_), at_orders = up.add(orders_);
  const int n_caches = static_cast<int>(first_step_.size()) - 1;
  if (n_caches == 0 && gone_.empty()) return;
  up.send();
  if (n_caches > 0)
    combine_slots(device.work(), type, up.at<CombineStep>(at_steps), up.at<int>(at_first), n_caches, head_dim, up.at<int>(at_members),
                  up.at<double>(at_weights));
  if (!removals_.empty())
    remove_rows(device.work(), up.at<RemoveJob>(at_removals), static_cast<int>(removals_.size()), static_cast<int>(removed_row_bytes_),
                up.at<int>(at_gone));
  if (!orders_.empty()) cuda::move_back(device.work(), up.at<OrderJob>(at_orders), static_cast<int>(orders_.size()), up.at<int>(at_gone));
}

}  // namespace kvscope::cuda
