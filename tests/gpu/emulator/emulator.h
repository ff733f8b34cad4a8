// SPDX-License-Identifier: Apache-2.0
#pragma once

// Runs CUDA kernels on the host, one thread of a block after the other: every thread is a fiber that gives way where it waits for others.
// So the very sources of engine/backend/cuda can be tested, under sanitizers too, where there is no device. What it cannot show: races
// between warps that a wrong order of fibers does not bring out, alignment faults, speed. Barriers that not all threads reach end the
// program with a sentence, as does a shuffle of a warp that has lost lanes.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <tuple>
#include <utility>

struct dim3 {
  unsigned x = 1, y = 1, z = 1;
  constexpr dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {}
};

struct CUstream_st;
using cudaStream_t = CUstream_st*;

// What a kernel reads.
extern thread_local constinit dim3 threadIdx, blockIdx, blockDim, gridDim;

namespace emulator {

/// False under ThreadSanitizer, which takes fibers for threads that race.
#if defined(__SANITIZE_THREAD__)
inline constexpr bool kRuns = false;
#else
inline constexpr bool kRuns = true;
#endif

/// Lets the runtime's functions find out what to do with a kernel's address: pointers to its arguments become a call with copies of them.
using Call = std::function<void()>;
using Bind = Call (*)(const void* kernel, void** parameters);
void know(const void* kernel, Bind bind);
template <std::size_t... i, class... P>
Call bind(std::index_sequence<i...>, void (*kernel)(P...), void** parameters) {
  return [kernel, arguments = std::tuple<P...>(*static_cast<P*>(parameters[i])...)] { std::apply(kernel, arguments); };
}
template <class... P>
void know(void (*kernel)(P...)) {
  know(reinterpret_cast<const void*>(kernel), [](const void* address, void** parameters) {
    return bind(std::index_sequence_for<P...>(), reinterpret_cast<void (*)(P...)>(const_cast<void*>(address)), parameters);
  });
}
/// How often a kernel was started by itself so far, and a graph.
long launches();
long graph_launches();
/// Graphs ready to be launched, in the whole program; those that ever were.
long graphs();
long graphs_made();
/// False: there is no memory for more of them.
void set_room_for_graphs(bool room);

/// Starts a kernel: every thread calls it.
void run(dim3 grid, dim3 block, std::size_t shared_bytes, cudaStream_t stream, std::function<void()> kernel);
/// True: kernels and products are started but not run, and memory is zero. For measuring what the host does.
void set_idle(bool idle);
bool idle();
/// What it sends to the host meanwhile, where zeros would make no sense: changed here.
using Answer = std::function<void(void* data, std::size_t bytes)>;
void set_answer(Answer answer);
const Answer& answer();
/// Work on a stream is done when somebody waits for it.
void enqueue(cudaStream_t stream, std::function<void()> work);
/// How often the host has waited for everything on a stream so far.
long waits();
/// What the host has asked for so far that costs it time, or the device.
struct Requests {
  long alone = 0, graphs = 0, graphs_made = 0;  // launches of kernels by themselves, of graphs; graphs that were made for that
  long uploads = 0, downloads = 0;              // transfers
  long waits = 0, event_waits = 0;              // for everything on a stream; for an event
  long allocations = 0, pinned = 0;             // of device memory, of page-locked host memory
};
Requests requests();

unsigned char* dynamic_shared();
void wait_for_block();
/// What every lane of this warp gives, [32] values of `bytes` bytes, 32 at most: until the next but one call.
const void* exchange(const void* mine, std::size_t bytes);
template <class T>
const T* of_warp(const T& mine) {
  return static_cast<const T*>(exchange(&mine, sizeof(T)));
}
/// A copy to shared memory that is not made before this thread waits for its copies.
void copy_later(void* to, const void* from, std::size_t bytes);
void wait_for_copies();

/// Order in which the threads of a block get their turns: results must not depend on it.
enum class Order { ascending, descending };
void set_order(Order order);
/// What work() gives in that order.
template <class Work>
auto in_order(Order order, const Work& work) {
  set_order(order);
  auto out = work();
  set_order(Order::ascending);
  return out;
}
/// The device memory that can be had, bytes; more fails as on a device.
void set_memory(std::size_t bytes);
/// Bytes of shared memory that a block can have.
inline constexpr std::size_t kSharedAtMost = 227 * 1024;
/// Compute capability of the devices, 90: 9.0.
void set_capability(int capability);
/// Number of devices that are reported.
void set_devices(int n);
std::size_t memory_in_use();
/// Of device memory, and of page-locked host memory.
std::pair<long, long> allocations_so_far();

template <class T>
T shuffle(T value, int from) {
  return of_warp(value)[from];
}

inline int lane() { return static_cast<int>(threadIdx.x) % 32; }

}  // namespace emulator

#define __global__
#define __device__
#define __host__
#define __shared__ static thread_local
#define __launch_bounds__(...)

inline void __syncthreads() { emulator::wait_for_block(); }
template <class T>
T __shfl_xor_sync(unsigned, T value, int mask) {
  return emulator::shuffle(value, emulator::lane() ^ mask);
}

template <class T>
T __shfl_sync(unsigned, T value, int from) {
  return emulator::shuffle(value, from);
}
/// Lanes that have none `delta` before them get their own.
template <class T>
T __shfl_up_sync(unsigned, T value, int delta) {
  return emulator::shuffle(value, emulator::lane() < delta ? emulator::lane() : emulator::lane() - delta);
}
/// Fibers take turns: nothing comes in between.
inline int atomicAdd(int* p, int x) { return std::exchange(*p, *p + x); }
inline double __dmul_rn(double x, double y) { return x * y; }
inline long long __double_as_longlong(double x) {
  long long bits = 0;
  std::memcpy(&bits, &x, sizeof(bits));
  return bits;
}

using std::max;
using std::min;
struct uint2 {
  unsigned x, y;
};
struct uint4 {
  unsigned x, y, z, w;
};
