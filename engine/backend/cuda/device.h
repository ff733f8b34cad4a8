// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "backend/buffer.h"
#include "backend/cuda/kernels.h"

namespace kvscope::cuda {

class Event {
 public:
  Event();
  ~Event() { cudaEventDestroy(event_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  cudaEvent_t get() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

/// Page-locked host memory: the device can read and write it by itself.
class PinnedMemory {
 public:
  PinnedMemory() = default;
  ~PinnedMemory() { cudaFreeHost(data_); }
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;
  /// At least so many bytes; what was there is lost when it has to grow.
  std::byte* bytes(std::size_t n);

 private:
  void* data_ = nullptr;
  std::size_t size_ = 0;
};

/// A union of address ranges.
class Ranges {
 public:
  void add(const void* p, std::size_t bytes);
  bool overlaps(const void* p, std::size_t bytes) const;
  void clear() { ends_.clear(); }

 private:
  std::map<std::uintptr_t, std::uintptr_t> ends_;  // by their begin, disjoint
};

/// One engine's place on a device: its stream, its memory, and small transfers gathered into few. Any number can live in one process. Every
/// function may be called from any thread that holds lock().
class Device : public std::enable_shared_from_this<Device> {
 public:
  /// Throws Error where the device cannot be used.
  explicit Device(int index);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  /// While it lives, this thread talks to this device and no other thread does.
  std::unique_lock<std::recursive_mutex> lock();
  cudaStream_t stream() const { return stream_; }
  cublasHandle_t cublas() const { return cublas_; }
  void wait();

  /// Device memory that goes back when the buffer dies, in the order of the stream. what: for the message where there is none.
  Buffer allocate(std::size_t bytes, const char* what);
  /// Memory for the time of one call, kept for the next one. One area for each `use`.
  enum class Use { attention, rotated_keys, gemm, sums, results, gathered };
  void* scratch(Use use, std::size_t bytes);
  template <class T>
  T* scratch_of(Use use, std::size_t n) {
    return static_cast<T*>(scratch(use, n * sizeof(T)));
  }

  void upload(void* to, const void* from_host, std::size_t bytes);
  /// Waits for everything before it.
  void download(void* to_host, const void* from, std::size_t bytes);
  /// Done later, together with others, but before anything that could tell the difference.
  void copy(void* to, const void* from, std::size_t bytes);
  /// To be called before kernels run that read what copy() may have written.
  void flush_copies();
  /// To be called before memory is written in another way than by copy() and upload(): what was brought to the host of it is forgotten.
  void writes(const void* p, std::size_t bytes);

  struct Piece {
    const void* data = nullptr;
    std::size_t bytes = 0;
  };
  /// These are going to be downloaded piece by piece: the first download() of one brings all of them, until they are written again.
  void expect_downloads(std::vector<Piece> pieces);

 private:
  friend class Upload;
  struct Slot {  // of the ring of uploads
    PinnedMemory host;
    Buffer device;
    Event done;
    bool used = false;
  };
  struct Mirrored {
    std::uintptr_t begin = 0;
    std::size_t bytes = 0, offset = 0;
  };

  Slot& next_slot(std::size_t bytes);
  bool download_mirrored(void* to_host, const void* from, std::size_t bytes);
  void free(void* p, std::size_t bytes);

  int index_;
  cudaStream_t stream_ = nullptr;
  cudaMemPool_t pool_ = nullptr;  // nullptr: the device has none
  cublasHandle_t cublas_ = nullptr;
  std::recursive_mutex mutex_;
  Buffer scratch_[6];
  std::unique_ptr<Slot[]> ring_;
  int newest_slot_ = 0;
  PinnedMemory bounce_, mirror_;
  std::vector<CopyJob> copies_;
  Ranges copies_read_, copies_write_;
  std::vector<Mirrored> mirrored_;  // ascending addresses
  bool mirror_is_here_ = false;
};

/// Several arrays in one transfer to the device.
class Upload {
 public:
  explicit Upload(Device& device) : device_(device) {}
  /// Where the array will be, for at().
  template <class T>
  std::size_t add(std::span<const T> values) {
    return add_bytes(values.data(), values.size_bytes());
  }
  template <class T>
  std::size_t add(const std::vector<T>& values) {
    return add(std::span<const T>(values));
  }
  void send();
  template <class T>
  const T* at(std::size_t place) const {
    return reinterpret_cast<const T*>(base_ + place);
  }

 private:
  std::size_t add_bytes(const void* data, std::size_t bytes);

  Device& device_;
  std::vector<std::byte> host_;
  const std::byte* base_ = nullptr;
};

}  // namespace kvscope::cuda
