// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/device.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <iterator>

#include "backend/cuda/check.h"
#include "core/error.h"

namespace kvscope::cuda {

namespace {

constexpr int kSlots = 8;                       // uploads that can be under way
constexpr std::size_t kUploadSlot = 64 * 1024;  // bytes to begin with
constexpr std::size_t kBounce = 1 << 20;        // downloads up to here go through page-locked memory
constexpr std::size_t kLargeCopy = 256 * 1024;  // worth a transfer of its own
constexpr std::size_t kMostCopies = 16 * 1024;  // that wait at a time

std::uintptr_t address(const void* p) { return reinterpret_cast<std::uintptr_t>(p); }

std::size_t round_up(std::size_t n, std::size_t to) { return (n + to - 1) / to * to; }

}  // namespace

Event::Event() { check(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), "making an event"); }

std::byte* PinnedMemory::bytes(std::size_t n) {
  if (n > size_) {
    cudaFreeHost(data_);
    data_ = nullptr;
    size_ = 0;
    check(cudaMallocHost(&data_, n + n / 2), "taking page-locked host memory");
    size_ = n + n / 2;
  }
  return static_cast<std::byte*>(data_);
}

void Ranges::add(const void* p, std::size_t bytes) {
  if (bytes == 0) return;
  std::uintptr_t begin = address(p), end = begin + bytes;
  auto next = ends_.upper_bound(begin);
  if (next != ends_.begin() && std::prev(next)->second >= begin) --next;
  while (next != ends_.end() && next->first <= end) {
    begin = std::min(begin, next->first);
    end = std::max(end, next->second);
    next = ends_.erase(next);
  }
  ends_.emplace_hint(next, begin, end);
}

bool Ranges::overlaps(const void* p, std::size_t bytes) const {
  const auto next = ends_.lower_bound(address(p) + bytes);  // the first that begins behind it
  return bytes != 0 && next != ends_.begin() && std::prev(next)->second > address(p);
}

Device::Device(int index) : index_(index) {
  try {
    check(cudaSetDevice(index), "choosing the device");
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "making a stream");
    int has_pools = 0;
    check(cudaDeviceGetAttribute(&has_pools, cudaDevAttrMemoryPoolsSupported, index), "asking for memory pools");
    if (has_pools != 0) {
      cudaMemPoolProps properties = {};
      properties.allocType = cudaMemAllocationTypePinned;
      properties.location.type = cudaMemLocationTypeDevice;
      properties.location.id = index;
      check(cudaMemPoolCreate(&pool_, &properties), "making a memory pool");
      std::uint64_t keep = UINT64_MAX;  // what is freed is used again, not given back at every wait
      check(cudaMemPoolSetAttribute(pool_, cudaMemPoolAttrReleaseThreshold, &keep), "setting up the memory pool");
    }
    ring_ = std::make_unique<Slot[]>(kSlots);
    check(cublasCreate(&cublas_), "starting cuBLAS");
    check(cublasSetStream(cublas_, stream_), "giving cuBLAS its stream");
    check(cublasSetMathMode(cublas_, CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION), "setting cuBLAS to sums in f32");
  } catch (...) {
    if (cublas_) cublasDestroy(cublas_);
    ring_.reset();
    if (pool_) cudaMemPoolDestroy(pool_);
    if (stream_) cudaStreamDestroy(stream_);
    throw;
  }
}

Device::~Device() {  // buffers hold on to their device: all others are gone
  cudaSetDevice(index_);
  cudaStreamSynchronize(stream_);
  const auto give = [&](Buffer& buffer) {
    if (pool_) {
      cudaFreeAsync(buffer.data(), stream_);
    } else {
      cudaFree(buffer.data());
    }
    buffer = Buffer();
  };
  for (Buffer& buffer : scratch_)
    if (buffer) give(buffer);
  for (int i = 0; i < kSlots; ++i)
    if (ring_[static_cast<std::size_t>(i)].device) give(ring_[static_cast<std::size_t>(i)].device);
  cudaStreamSynchronize(stream_);
  cublasDestroy(cublas_);
  ring_.reset();
  if (pool_) cudaMemPoolDestroy(pool_);
  cudaStreamDestroy(stream_);
}

std::unique_lock<std::recursive_mutex> Device::lock() {
  std::unique_lock held(mutex_);
  check(cudaSetDevice(index_), "choosing the device");
  return held;
}

void Device::wait() { check(cudaStreamSynchronize(stream_), "waiting for the device"); }

Buffer Device::allocate(std::size_t bytes, const char* what) {
  const auto held = lock();
  void* p = nullptr;
  const std::size_t size = std::max<std::size_t>(bytes, 1);
  check(pool_ ? cudaMallocFromPoolAsync(&p, size, pool_, stream_) : cudaMalloc(&p, size), what);
  return Buffer(p, bytes, [device = shared_from_this(), bytes](void* q) { device->free(q, bytes); });
}

void Device::free(void* p, std::size_t bytes) {
  const std::lock_guard held(mutex_);
  cudaSetDevice(index_);
  try {
    if (copies_read_.overlaps(p, bytes) || copies_write_.overlaps(p, bytes)) flush_copies();
  } catch (const std::exception&) {  // a destructor may not throw; the device is broken then, and the next call says so
  }
  writes(p, bytes);
  if (pool_) {
    cudaFreeAsync(p, stream_);
  } else {
    cudaFree(p);  // waits for the device
  }
}

void* Device::scratch(Use use, std::size_t bytes) {
  Buffer& area = scratch_[static_cast<std::size_t>(use)];
  if (area.bytes() < bytes) {
    const auto give = [&](void* p) { pool_ ? cudaFreeAsync(p, stream_) : cudaFree(p); };
    if (area) give(area.data());
    area = Buffer();
    void* p = nullptr;
    const std::size_t size = bytes + bytes / 4;
    check(pool_ ? cudaMallocFromPoolAsync(&p, size, pool_, stream_) : cudaMalloc(&p, size), "working memory");
    area = Buffer(p, size, [](void*) {});  // freed by the device: a buffer that held its device would never let it go
  }
  return area.data();
}

void Device::upload(void* to, const void* from_host, std::size_t bytes) {
  if (bytes == 0) return;
  flush_copies();
  writes(to, bytes);
  check(cudaMemcpyAsync(to, from_host, bytes, cudaMemcpyHostToDevice, stream_), "an upload");
  wait();  // the caller may change its memory now
}

void Device::download(void* to_host, const void* from, std::size_t bytes) {
  if (bytes == 0 || download_mirrored(to_host, from, bytes)) return;
  flush_copies();
  const bool bounces = bytes <= kBounce;
  void* const host = bounces ? bounce_.bytes(bytes) : to_host;
  check(cudaMemcpyAsync(host, from, bytes, cudaMemcpyDeviceToHost, stream_), "a download");
  wait();
  if (bounces) std::memcpy(to_host, host, bytes);
}

void Device::copy(void* to, const void* from, std::size_t bytes) {
  if (bytes == 0) return;
  const bool depends = copies_write_.overlaps(from, bytes) || copies_write_.overlaps(to, bytes) || copies_read_.overlaps(to, bytes);
  if (depends || copies_.size() >= kMostCopies) flush_copies();
  writes(to, bytes);
  if (bytes >= kLargeCopy) {
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream_), "a copy");
    return;
  }
  copies_.push_back({to, from, bytes});
  copies_write_.add(to, bytes);
  copies_read_.add(from, bytes);
}

void Device::flush_copies() {
  if (copies_.empty()) return;
  std::vector<CopyJob> jobs;
  jobs.swap(copies_);
  copies_read_.clear();
  copies_write_.clear();
  Upload up(*this);
  const std::size_t place = up.add(jobs);
  up.send();
  copy_all(stream_, up.at<CopyJob>(place), static_cast<int>(jobs.size()));
  jobs.clear();
  copies_.swap(jobs);  // keeps its memory
}

void Device::writes(const void* p, std::size_t bytes) {
  if (mirrored_.empty() || bytes == 0) return;
  const auto next = std::lower_bound(mirrored_.begin(), mirrored_.end(), address(p) + bytes,
                                     [](const Mirrored& m, std::uintptr_t end) { return m.begin < end; });
  if (next != mirrored_.begin() && std::prev(next)->begin + std::prev(next)->bytes > address(p)) mirrored_.clear();
}

void Device::expect_downloads(std::vector<Piece> pieces) {
  mirrored_.clear();
  mirror_is_here_ = false;
  std::sort(pieces.begin(), pieces.end(), [](const Piece& a, const Piece& b) { return address(a.data) < address(b.data); });
  std::size_t offset = 0;
  for (const Piece& piece : pieces) {
    if (!mirrored_.empty() && mirrored_.back().begin + mirrored_.back().bytes == address(piece.data)) {  // neighbours are one
      mirrored_.back().bytes += piece.bytes;
      offset += piece.bytes;
    } else {
      offset = round_up(offset, 16);
      mirrored_.push_back({address(piece.data), piece.bytes, offset});
      offset += piece.bytes;
    }
  }
}

bool Device::download_mirrored(void* to_host, const void* from, std::size_t bytes) {
  const auto next =
      std::upper_bound(mirrored_.begin(), mirrored_.end(), address(from), [](std::uintptr_t p, const Mirrored& m) { return p < m.begin; });
  if (next == mirrored_.begin()) return false;
  const Mirrored found = *std::prev(next);
  if (address(from) + bytes > found.begin + found.bytes) return false;
  const std::size_t total = mirrored_.back().offset + mirrored_.back().bytes;
  std::byte* const host = mirror_.bytes(total);
  if (!mirror_is_here_) {
    flush_copies();
    auto* const gathered = static_cast<std::byte*>(scratch(Use::gathered, total));
    std::vector<CopyJob> jobs;
    for (const Mirrored& m : mirrored_) jobs.push_back({gathered + m.offset, reinterpret_cast<const void*>(m.begin), m.bytes});
    Upload up(*this);
    const std::size_t place = up.add(jobs);
    up.send();
    copy_all(stream_, up.at<CopyJob>(place), static_cast<int>(jobs.size()));
    check(cudaMemcpyAsync(host, gathered, total, cudaMemcpyDeviceToHost, stream_), "a download");
    wait();
    mirror_is_here_ = true;
  }
  std::memcpy(to_host, host + found.offset + (address(from) - found.begin), bytes);
  return true;
}

Device::Slot& Device::next_slot(std::size_t bytes) {
  newest_slot_ = (newest_slot_ + 1) % kSlots;
  Slot& slot = ring_[static_cast<std::size_t>(newest_slot_)];
  if (slot.used) check(cudaEventSynchronize(slot.done.get()), "waiting for an upload");  // host memory; the device's is in order by itself
  slot.used = true;
  if (slot.device.bytes() < bytes) {
    const auto give = [&](void* p) { pool_ ? cudaFreeAsync(p, stream_) : cudaFree(p); };
    if (slot.device) give(slot.device.data());
    slot.device = Buffer();
    void* p = nullptr;
    const std::size_t size = std::max(kUploadSlot, bytes + bytes / 2);
    check(pool_ ? cudaMallocFromPoolAsync(&p, size, pool_, stream_) : cudaMalloc(&p, size), "memory for uploads");
    slot.device = Buffer(p, size, [](void*) {});
  }
  return slot;
}

std::size_t Upload::add_bytes(const void* data, std::size_t bytes) {
  const std::size_t place = round_up(host_.size(), 16);
  host_.resize(place + bytes);
  if (bytes != 0) std::memcpy(host_.data() + place, data, bytes);
  return place;
}

void Upload::send() {
  if (host_.empty()) host_.resize(16);
  Device::Slot& slot = device_.next_slot(host_.size());
  std::memcpy(slot.host.bytes(host_.size()), host_.data(), host_.size());
  check(cudaMemcpyAsync(slot.device.data(), slot.host.bytes(host_.size()), host_.size(), cudaMemcpyHostToDevice, device_.stream()),
        "an upload");
  check(cudaEventRecord(slot.done.get(), device_.stream()), "marking an upload");
  base_ = slot.device.as<std::byte>();
}

}  // namespace kvscope::cuda
