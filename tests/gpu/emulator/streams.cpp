// SPDX-License-Identifier: Apache-2.0
// Streams whose work is done as late as it may be: when somebody waits for it. What is changed or freed too early, and what is read on
// another stream without waiting for it, shows as a wrong result.
#include <atomic>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <utility>

#include "cuda_runtime.h"

struct CUstream_st {
  std::deque<std::function<void()>> work;
};

struct CUevent_st {
  cudaStream_t stream = nullptr;  // of the newest record
  std::uint64_t recorded = 0, reached = 0;
};

namespace emulator {

namespace {

std::recursive_mutex mutex;  // threads may wait for events while others give work
std::atomic<long> n_waits{0}, n_event_waits{0}, n_uploads{0}, n_downloads{0};

/// The next piece of work, which may make other streams go on.
void step(cudaStream_t stream) {
  const std::function<void()> work = std::move(stream->work.front());
  stream->work.pop_front();
  work();
}

/// Until the record that was the newest when somebody began to wait.
void run_until(cudaEvent_t event, std::uint64_t record) {
  while (event->reached < record) step(event->stream);
}

}  // namespace

void enqueue(cudaStream_t stream, std::function<void()> work) {
  if (!stream) return work();  // the default stream: at once
  const std::lock_guard held(mutex);
  stream->work.push_back(std::move(work));
}

long waits() { return n_waits; }
Requests requests() {
  const auto [allocations, pinned] = allocations_so_far();
  return {.alone = launches(),
          .graphs = graph_launches(),
          .graphs_made = graphs_made(),
          .uploads = n_uploads,
          .downloads = n_downloads,
          .waits = n_waits,
          .event_waits = n_event_waits,
          .allocations = allocations,
          .pinned = pinned};
}

}  // namespace emulator

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  *stream = new CUstream_st;
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  const std::lock_guard held(emulator::mutex);
  ++emulator::n_waits;
  while (!stream->work.empty()) emulator::step(stream);
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  const std::lock_guard held(emulator::mutex);
  while (!stream->work.empty()) emulator::step(stream);
  delete stream;
  return cudaSuccess;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  const std::lock_guard held(emulator::mutex);
  emulator::enqueue(stream, [event, record = event->recorded] { emulator::run_until(event, record); });
  return cudaSuccess;
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  *event = new CUevent_st;
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  const std::lock_guard held(emulator::mutex);
  if (event) emulator::run_until(event, event->recorded);
  delete event;
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  const std::lock_guard held(emulator::mutex);
  emulator::run_until(event, event->recorded);  // one record at a time is all that is emulated
  event->stream = stream;
  emulator::enqueue(stream, [event, record = ++event->recorded] { event->reached = record; });
  return cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  const std::lock_guard held(emulator::mutex);
  ++emulator::n_event_waits;
  emulator::run_until(event, event->recorded);
  return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  if (kind == cudaMemcpyHostToDevice) ++emulator::n_uploads;
  if (kind == cudaMemcpyDeviceToHost) ++emulator::n_downloads;
  if (bytes != 0)
    emulator::enqueue(stream, [=] {
      std::memcpy(to, from, bytes);
      if (kind == cudaMemcpyDeviceToHost && emulator::idle() && emulator::answer()) emulator::answer()(to, bytes);
    });
  return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t stream) {
  if (bytes != 0) emulator::enqueue(stream, [=] { std::memset(to, value, bytes); });
  return cudaSuccess;
}
cudaError_t cudaFreeAsync(void* p, cudaStream_t stream) {
  emulator::enqueue(stream, [p] { cudaFree(p); });
  return cudaSuccess;
}
