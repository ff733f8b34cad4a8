// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/device.h"

#include <algorithm>
#include <cstring>
#include <exception>

#include "backend/cuda/check.h"
#include "core/error.h"

namespace kvscope::cuda {

namespace {

constexpr int kUploads = 8;                     // that can be under way
constexpr std::size_t kBounce = 1 << 20;        // transfers up to here go through page-locked memory
constexpr std::size_t kLargeCopy = 256 * 1024;  // worth a transfer of its own

}  // namespace

Device::Device(int index, DType type, int head_dim, bool graphs) : index_(index), type_(type), head_dim_(head_dim) {
  try {
    check(cudaSetDevice(index), "choosing the device");
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "making a stream");
    const auto attribute = [index](cudaDeviceAttr which) {
      int value = 0;
      check(cudaDeviceGetAttribute(&value, which, index), "asking what the device has");
      return value;
    };
    capability_ = 10 * attribute(cudaDevAttrComputeCapabilityMajor) + attribute(cudaDevAttrComputeCapabilityMinor);
    processors_ = attribute(cudaDevAttrMultiProcessorCount);
    most_shared_ = static_cast<std::size_t>(attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin));
    if (attribute(cudaDevAttrMemoryPoolsSupported) != 0) {
      cudaMemPoolProps properties = {};
      properties.allocType = cudaMemAllocationTypePinned;
      properties.location.type = cudaMemLocationTypeDevice;
      properties.location.id = index;
      check(cudaMemPoolCreate(&pool_, &properties), "making a memory pool");
      std::uint64_t keep = UINT64_MAX;  // what is freed is used again, not given back at every wait
      check(cudaMemPoolSetAttribute(pool_, cudaMemPoolAttrReleaseThreshold, &keep), "setting up the memory pool");
    }
    reserve(arena_, Work::kArena, "memory for uploads");
    work_ = std::make_unique<Work>(index, stream_, arena_.data(), graphs);
    ring_ = std::make_unique<PinnedRing>(kUploads);
    mirrors_ = std::make_unique<Mirrors>();
    check(cublasCreate(&cublas_), "starting cuBLAS");
    check(cublasSetStream(cublas_, stream_), "giving cuBLAS its stream");
    check(cublasSetMathMode(cublas_, CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION), "setting cuBLAS to sums in f32");
  } catch (...) {
    if (cublas_) cublasDestroy(cublas_);
    mirrors_.reset();
    ring_.reset();
    work_.reset();
    give(arena_);
    if (pool_) cudaMemPoolDestroy(pool_);
    if (stream_) cudaStreamDestroy(stream_);
    throw;
  }
}

Device::~Device() {  // buffers hold on to their device: all others are gone, and nobody can tell whether what is left of the work is done
  cudaSetDevice(index_);
  cudaStreamSynchronize(stream_);
  mirrors_->release(*this);
  for (Buffer& area : scratch_) give(area);
  give(arena_);
  cudaStreamSynchronize(stream_);
  cublasDestroy(cublas_);
  mirrors_.reset();
  ring_.reset();
  work_.reset();
  if (pool_) cudaMemPoolDestroy(pool_);
  cudaStreamDestroy(stream_);
}

std::unique_lock<std::recursive_mutex> Device::lock() {
  std::unique_lock held(mutex_);
  check(cudaSetDevice(index_), "choosing the device");
  return held;
}

void Device::wait() { check(cudaStreamSynchronize(stream()), "waiting for the device"); }

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
    const DeferredCopies::Area area{p, bytes};
    if (deferred_.depends({}, {&area, 1})) flush();
    work_->start();
  } catch (const std::exception&) {  // a destructor may not throw; the device is broken then, and the next call says so
  }
  writes(p, bytes);
  if (pool_) {
    cudaFreeAsync(p, stream_);
  } else {
    cudaFree(p);  // waits for the device
  }
}

void Device::give(Buffer& area) {
  if (area) pool_ ? cudaFreeAsync(area.data(), stream_) : cudaFree(area.data());
  area = Buffer();
}

void Device::reserve(Buffer& area, std::size_t bytes, const char* what) {
  if (area && area.bytes() >= bytes) return;
  if (area) work_->start();
  give(area);
  void* p = nullptr;
  const std::size_t size = std::max<std::size_t>(bytes + bytes / 2, 1);
  check(pool_ ? cudaMallocFromPoolAsync(&p, size, pool_, stream_) : cudaMalloc(&p, size), what);
  area = Buffer(p, size, [](void*) {});  // freed by the device: a buffer that held its device would never let it go
}

void* Device::scratch(Use use, std::size_t bytes) {
  Buffer& area = scratch_[static_cast<std::size_t>(use)];
  reserve(area, bytes, "working memory");
  return area.data();
}

void Device::upload(void* to, const void* from_host, std::size_t bytes) {
  if (bytes == 0) return;
  flush();
  writes(to, bytes);
  if (bytes <= kBounce) return send(to, from_host, bytes);
  check(cudaMemcpyAsync(to, from_host, bytes, cudaMemcpyHostToDevice, stream()), "an upload");
  wait();  // the caller may change its memory now
}

void Device::send(void* to, const void* from_host, std::size_t bytes) {
  std::byte* const host = ring_->next(bytes);
  std::memcpy(host, from_host, bytes);
  check(cudaMemcpyAsync(to, host, bytes, cudaMemcpyHostToDevice, stream()), "an upload");
  ring_->sent(stream_);
}

void Device::download(void* to_host, const void* from, std::size_t bytes) {
  if (bytes == 0) return;
  flush();
  const bool bounces = bytes <= kBounce;
  void* const host = bounces ? bounce_.bytes(bytes) : to_host;
  check(cudaMemcpyAsync(host, from, bytes, cudaMemcpyDeviceToHost, stream()), "a download");
  wait();
  if (bounces) std::memcpy(to_host, host, bytes);
}

const std::byte* Device::brought(const void* from, std::size_t bytes) {
  Mirrors::Coming coming;
  {
    const auto held = lock();
    coming = mirrors_->find(from, bytes);
  }
  if (coming.data) Mirrors::wait(*coming.transfer);
  return coming.data;
}

void Device::copy(void* to, const void* from, std::size_t bytes) {
  if (bytes == 0) return;
  const DeferredCopies::Area read{from, bytes}, written{to, bytes};
  if (deferred_.full() || deferred_.depends({&read, 1}, {&written, 1})) flush();
  writes(to, bytes);
  if (bytes < kLargeCopy) return deferred_.copy(to, from, bytes);
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream()), "a copy");
}

void Device::append(std::span<const CopyJob> copies) {
  if (deferred_.full() || !deferred_.only_appends()) flush();
  deferred_.append(copies);
}

void Device::copy_rows(std::span<const RowsJob> jobs, std::size_t row_bytes, int stride) {
  int most = 0;
  for (const RowsJob& job : jobs) most = std::max(most, job.n);
  if (most == 0) return;
  if (most == 1 || stride == 1) {
    std::vector<CopyJob> copies;
    copies.reserve(jobs.size());
    for (const RowsJob& job : jobs)
      if (job.n > 0) copies.push_back({job.to, job.from, row_bytes * static_cast<std::size_t>(job.n)});
    for (const CopyJob& copy : copies) writes(copy.to, copy.bytes);
    if (most == 1) return append(copies);
    flush();
    return copy_together(copies);
  }
  std::vector<int> order(static_cast<std::size_t>(most));
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i) * stride;
  flush();
  Upload order_up(*this), up(*this);
  const std::size_t at_order = order_up.add(order);
  order_up.send();
  std::vector<GatherJob> gathers;
  gathers.reserve(jobs.size());
  for (const RowsJob& job : jobs) {
    writes(job.to, row_bytes * static_cast<std::size_t>(job.n));
    gathers.push_back({job.to, job.from, order_up.at<int>(at_order), static_cast<int>(row_bytes), job.n});
  }
  const std::size_t at_gathers = up.add(gathers);
  up.send();
  gather_rows(work(), up.at<GatherJob>(at_gathers), static_cast<int>(gathers.size()), static_cast<int>(row_bytes));
}

void Device::change(const SlotChanges& changes) {
  flush();
  changes.start(*this, type_, head_dim_);
}

void Device::gather(Buffer& to, const Buffer& from, std::size_t row_bytes, const Buffer& order, int n) {
  if (n == 0) return;
  const DeferredCopies::Area reads[] = {{from.data(), from.bytes()}, {order.data(), order.bytes()}}, written{to.data(), to.bytes()};
  if (deferred_.full() || deferred_.depends(reads, {&written, 1})) flush();
  writes(written.data, written.bytes);
  deferred_.gather(to.data(), reads[0], row_bytes, reads[1], n);
}

void Device::flush() { deferred_.start(*this); }

void Device::copy_together(std::span<const CopyJob> jobs) {
  Upload up(*this);
  const std::size_t place = up.add(jobs);
  up.send();
  copy_all(work(), up.at<CopyJob>(place), static_cast<int>(jobs.size()));
}

std::size_t Upload::add_bytes(const void* data, std::size_t bytes) {
  const std::size_t place = round_up(host_.size(), 16);
  host_.resize(place + bytes);
  if (bytes != 0) std::memcpy(host_.data() + place, data, bytes);
  return place;
}

Upload::~Upload() {
  if (base_ && !own_) device_.work().leave();
}

void Upload::send() {
  base_ = device_.work().place(host_);
  if (base_) return;
  own_ = device_.allocate(host_.size(), "memory for uploads");
  device_.send(own_.data(), host_.data(), host_.size());
  base_ = own_.as<std::byte>();
}

}  // namespace kvscope::cuda
