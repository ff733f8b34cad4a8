// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/deferred_copies.h"

#include "backend/cuda/device.h"

namespace kvscope::cuda {

namespace {

constexpr std::size_t kMostCopies = 16 * 1024;

}  // namespace

bool DeferredCopies::depends(std::span<const Area> reads, std::span<const Area> writes) const {
  if (n_appends_ > 0) return true;
  for (const Area& a : reads)
    if (writes_.overlaps(a.data, a.bytes)) return true;
  for (const Area& a : writes)
    if (writes_.overlaps(a.data, a.bytes) || reads_.overlaps(a.data, a.bytes)) return true;
  return false;
}

bool DeferredCopies::full() const { return copies_.size() + gathers_.size() >= kMostCopies; }

void DeferredCopies::copy(void* to, const void* from, std::size_t bytes) {
  copies_.push_back({to, from, bytes});
  writes_.add(to, bytes);
  reads_.add(from, bytes);
}

void DeferredCopies::gather(void* to, const Area& from, std::size_t row_bytes, const Area& order, int n) {
  gathers_.push_back({to, from.data, static_cast<const int*>(order.data), static_cast<int>(row_bytes), n});
  gathered_row_bytes_ |= row_bytes;
  writes_.add(to, row_bytes * static_cast<std::size_t>(n));
  for (const Area& area : {from, order}) reads_.add(area.data, area.bytes);
}

void DeferredCopies::append(std::span<const CopyJob> copies) {
  copies_.insert(copies_.end(), copies.begin(), copies.end());
  n_appends_ += copies.size();
}

void DeferredCopies::start(Device& device) {
  if (empty()) return;
  DeferredCopies now;
  std::swap(now, *this);
  Upload up(device);
  const std::size_t at_copies = up.add(now.copies_), at_gathers = up.add(now.gathers_);
  up.send();
  if (!now.gathers_.empty()) {
    gather_rows(device.work(), up.at<GatherJob>(at_gathers), static_cast<int>(now.gathers_.size()),
                static_cast<int>(now.gathered_row_bytes_));
  }
  if (!now.copies_.empty()) copy_all(device.work(), up.at<CopyJob>(at_copies), static_cast<int>(now.copies_.size()));
}

}  // namespace kvscope::cuda
