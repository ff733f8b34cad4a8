// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "backend/backend.h"
#include "backend/cuda/deferred_copies.h"
#include "backend/cuda/kernels/kernels.h"
#include "backend/cuda/memory.h"
#include "backend/cuda/mirrors.h"
#include "backend/cuda/slot_changes.h"
#include "backend/cuda/work.h"
#include "core/dtype.h"

namespace kvscope::cuda {

/// One engine's place on a device: its stream, its memory, and launches and small transfers gathered into few. Any number can live in one
/// process. Every function may be called from any thread that holds lock().
class Device : public std::enable_shared_from_this<Device> {
 public:
  /// type: of activations and caches; head_dim: of a slot's key. graphs: launches that come again and again become graphs. Throws
  /// Error where the device cannot be used.
  Device(int index, DType type, int head_dim, bool graphs);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  /// Of activations and caches, and how many bytes numbers of it take, or the key of one slot.
  DType type() const { return type_; }
  int head_dim() const { return head_dim_; }
  std::size_t bytes(std::size_t numbers) const { return numbers * size_of(type_); }
  std::size_t row_bytes() const { return bytes(static_cast<std::size_t>(head_dim_)); }
  bool has_tensor_cores() const { return capability_ >= 80; }  // for 16 bits with sums in f32, bf16 among them
  std::size_t most_shared() const { return most_shared_; }     // bytes that a block can have
  /// Rows of a prompt that fill it: fewer leave matrix products waiting for their weights, and most of a large device idle.
  int prompt_rows() const { return 512 * std::max(1, (processors_ + 16) / 32); }

  /// While it lives, this thread talks to this device and no other thread does.
  std::unique_lock<std::recursive_mutex> lock();
  /// Where kernels are launched: they are gathered.
  Work& work() { return *work_; }
  /// For everything else that is put on the stream, at once: what was gathered is started first.
  cudaStream_t stream() {
    work_->start();
    return stream_;
  }
  cublasHandle_t cublas() {
    work_->start();
    return cublas_;
  }
  void wait();

  /// Device memory that goes back when the buffer dies, in the order of the stream. what: for the message where there is none.
  Buffer allocate(std::size_t bytes, const char* what);
  /// Memory for the time of one call, kept for the next one. One area for each `use`.
  enum class Use { attention, rotated_keys, gemm, sums, results };
  void* scratch(Use use, std::size_t bytes);
  template <class T>
  T* scratch_of(Use use, std::size_t n) {
    return static_cast<T*>(scratch(use, n * sizeof(T)));
  }

  void upload(void* to, const void* from_host, std::size_t bytes);
  /// Waits for everything before it.
  void download(void* to_host, const void* from, std::size_t bytes);
  /// What bring() has sent on its way, on the host, until it is written again; waits for that alone. nullptr: it has sent no such thing.
  /// For threads that do not hold lock(): others go on meanwhile.
  const std::byte* brought(const void* from, std::size_t bytes);
  /// Done later, together with others, but before anything that could tell the difference (deferred_copies.h).
  void copy(void* to, const void* from, std::size_t bytes);
  void gather(Buffer& to, const Buffer& from, std::size_t row_bytes, const Buffer& order, int n);
  /// The same for rows that come to the end of caches, which nobody reads or writes before that, from memory that is no cache's.
  void append(std::span<const CopyJob> copies);
  /// Backend::copy_rows(): now, or where it is one row each like append().
  void copy_rows(std::span<const RowsJob> jobs, std::size_t row_bytes, int stride);
  /// Now. What they change is never on its way to the host.
  void change(const SlotChanges& changes);
  /// To be called before kernels are launched that read what those may have written.
  void flush();
  /// To be called before memory is written in another way than by those and upload(): what was brought to the host of it is forgotten.
  void writes(const void* p, std::size_t bytes) { mirrors_->forget(p, bytes); }
  /// The host is going to download these, piece by piece: they are sent on their way now.
  void bring(std::vector<Mirrors::Piece> pieces) { mirrors_->bring(*this, std::move(pieces)); }
  /// One launch. They may neither overlap nor depend on each other.
  void copy_together(std::span<const CopyJob> jobs);

  /// At least so many bytes in `area`, whose contents are lost when it has to grow; to be given back with give().
  void reserve(Buffer& area, std::size_t bytes, const char* what);
  void give(Buffer& area);

 private:
  friend class Upload;
  /// By way of page-locked memory, of which it takes as much.
  void send(void* to, const void* from_host, std::size_t bytes);
  void free(void* p, std::size_t bytes);

  int index_;
  DType type_;
  int head_dim_;
  int capability_ = 0;  // compute capability, 90: 9.0
  std::size_t most_shared_ = 0;
  int processors_ = 1;
  cudaStream_t stream_ = nullptr;
  cudaMemPool_t pool_ = nullptr;  // nullptr: the device has none
  cublasHandle_t cublas_ = nullptr;
  std::recursive_mutex mutex_;
  Buffer scratch_[5];
  Buffer arena_;  // of work_
  std::unique_ptr<Work> work_;
  std::unique_ptr<PinnedRing> ring_;
  PinnedMemory bounce_;
  std::unique_ptr<Mirrors> mirrors_;
  DeferredCopies deferred_;
};

/// Several arrays on their way to the device, for the launches that are made while this lives.
class Upload {
 public:
  explicit Upload(Device& device) : device_(device) {}
  ~Upload();
  Upload(const Upload&) = delete;
  Upload& operator=(const Upload&) = delete;
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
  Buffer own_;  // of what is too large to be gathered
};

}  // namespace kvscope::cuda
