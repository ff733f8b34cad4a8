// SPDX-License-Identifier: Apache-2.0
// Primitives that look at one row, or one number, at a time.
#include "backend/cuda/kernels/kernels.h"
#include "backend/cuda/kernels/launch.h"
#include "backend/synthetic.h"

namespace kvscope::cuda {

namespace {

constexpr int kThreads = 256, kNormThreads = 512;

template <class T, class W>
__global__ void embed_rows(const W* table, int width, const int* ids, T* x) {
  const long row = blockIdx.x;
  const W* from = table + static_cast<long>(ids[row]) * width;
  for (int i = static_cast<int>(threadIdx.x); i < width; i += kThreads) x[row * width + i] = from_float<T>(to_float(from[i]));
}

/// A block for each row. The first kKept numbers of a thread stay with it: a row of one step is read once, and the wait for it is most of
/// what a norm costs.
template <class T, class W>
__global__ void __launch_bounds__(kNormThreads) rms_norm_rows(const T* x, const W* weight, int width, double eps, T* y) {
  constexpr int kKept = 8;
  __shared__ double of_warp[kNormThreads / 32];
  const int t = static_cast<int>(threadIdx.x);
  const T* row = x + static_cast<long>(blockIdx.x) * width;
  float kept[kKept], weights[kKept];
#pragma unroll
  for (int i = 0; i < kKept; ++i) {
    const bool there = t + i * kNormThreads < width;
    kept[i] = there ? to_float(row[t + i * kNormThreads]) : 0.0f;
    weights[i] = there ? to_float(weight[t + i * kNormThreads]) : 0.0f;
  }
  double sum = 0;
#pragma unroll
  for (int i = 0; i < kKept; ++i) sum += static_cast<double>(kept[i]) * static_cast<double>(kept[i]);
  for (int i = t + kKept * kNormThreads; i < width; i += kNormThreads) {
    const double value = static_cast<double>(to_float(row[i]));
    sum += value * value;
  }
  sum = sum_over_lanes(sum);
  if (t % 32 == 0) of_warp[t / 32] = sum;
  __syncthreads();
  // every warp adds the same numbers in the same order
  const double total = sum_over_lanes(t % 32 < kNormThreads / 32 ? of_warp[t % 32] : 0.0);
  const float scale = static_cast<float>(1.0 / sqrt(total / width + eps));
  T* out = y + static_cast<long>(blockIdx.x) * width;
#pragma unroll
  for (int i = 0; i < kKept; ++i)
    if (t + i * kNormThreads < width) out[t + i * kNormThreads] = from_float<T>(kept[i] * scale * weights[i]);
  for (int i = t + kKept * kNormThreads; i < width; i += kNormThreads)
    out[i] = from_float<T>(to_float(row[i]) * scale * to_float(weight[i]));
}

/// A warp for each row.
template <class T>
__global__ void norms_of_rows(const T* x, int rows, int width, double* out) {
  const long row = static_cast<long>(blockIdx.x) * (kThreads / 32) + threadIdx.x / 32;
  if (row >= rows) return;
  double sum = 0;
  for (int i = static_cast<int>(threadIdx.x) % 32; i < width; i += 32) {
    const double value = static_cast<double>(to_float(x[row * width + i]));
    sum += value * value;
  }
  sum = sum_over_lanes(sum);
  if (threadIdx.x % 32 == 0) out[row] = sqrt(sum);
}

template <class T>
__global__ void silu_mul_numbers(const T* gate, const T* up, long n, T* y) {
  const long i = static_cast<long>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= n) return;
  const float g = to_float(gate[i]);
  y[i] = from_float<T>(g / (1.0f + expf(-g)) * to_float(up[i]));
}

template <class T>
__global__ void rope_pairs(T* x, long pairs, int n_heads, int half, const int* positions, const float* cosines, const float* sines) {
  const long i = static_cast<long>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= pairs) return;
  const long head = i / half;
  const int pair = static_cast<int>(i % half), position = positions[head / n_heads];
  const long at = static_cast<long>(position < 0 ? -position : position) * half + pair;
  const float c = cosines[at], s = position < 0 ? -sines[at] : sines[at];
  T* const row = x + head * 2 * half;
  const float a = to_float(row[pair]), b = to_float(row[half + pair]);
  row[pair] = from_float<T>(a * c - b * s);
  row[half + pair] = from_float<T>(b * c + a * s);
}

template <class T, class W>
__global__ void convert_numbers(const W* from, long n, T* to) {
  const long i = static_cast<long>(blockIdx.x) * kThreads + threadIdx.x;
  if (i < n) to[i] = from_float<T>(to_float(from[i]));
}

__global__ void split_numbers(const float* x, long n, Bfloat* parts) {
  const long i = static_cast<long>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= n) return;
  float rest = x[i];
#pragma unroll
  for (int part = 0; part < 3; ++part) {
    const Bfloat piece = from_float<Bfloat>(rest);
    parts[part * n + i] = piece;
    rest -= to_float(piece);
  }
}

template <class T>
__global__ void synthesize_numbers(long n, std::uint64_t seed, T* to) {
  const long i = static_cast<long>(blockIdx.x) * kThreads + threadIdx.x;
  if (i < n) to[i] = from_float<T>(static_cast<float>(synthetic_number(seed, static_cast<std::uint64_t>(i))) * kSyntheticUnit);
}

__global__ void copy_jobs(const CopyJob* jobs) {
  const CopyJob job = jobs[blockIdx.x];
  const std::uintptr_t all = reinterpret_cast<std::uintptr_t>(job.to) | reinterpret_cast<std::uintptr_t>(job.from) | job.bytes;
  const std::size_t t = threadIdx.x + static_cast<std::size_t>(blockIdx.y) * blockDim.x,
                    step = static_cast<std::size_t>(blockDim.x) * gridDim.y;
  if (all % 16 == 0) {
    for (std::size_t i = t; i < job.bytes / 16; i += step) static_cast<uint4*>(job.to)[i] = static_cast<const uint4*>(job.from)[i];
  } else {
    for (std::size_t i = t; i < job.bytes; i += step)
      static_cast<unsigned char*>(job.to)[i] = static_cast<const unsigned char*>(job.from)[i];
  }
}

}  // namespace

void embed(Work& work, DType type, Numbers table, int width, const int* ids, int rows, void* x) {
  with_type(type, [&](auto t) {
    with_type(table.type, [&](auto w) {
      using T = decltype(t);
      using W = decltype(w);
      launch("embed", embed_rows<T, W>, static_cast<unsigned>(rows), kThreads, 0, work, static_cast<const W*>(table.data), width, ids,
             static_cast<T*>(x));
    });
  });
}

void rms_norm(Work& work, DType type, const void* x, Numbers weight, int width, double eps, int rows, void* y) {
  with_type(type, [&](auto t) {
    with_type(weight.type, [&](auto w) {
      using T = decltype(t);
      using W = decltype(w);
      launch("rms_norm", rms_norm_rows<T, W>, static_cast<unsigned>(rows), kNormThreads, 0, work, static_cast<const T*>(x),
             static_cast<const W*>(weight.data), width, eps, static_cast<T*>(y));
    });
  });
}

void silu_mul(Work& work, DType type, const void* gate, const void* up, long n, void* y) {
  with_type(type, [&](auto t) {
    using T = decltype(t);
    launch("silu_mul", silu_mul_numbers<T>, blocks_for(n, kThreads), kThreads, 0, work, static_cast<const T*>(gate),
           static_cast<const T*>(up), n, static_cast<T*>(y));
  });
}

void row_norms(Work& work, DType type, const void* x, int rows, int width, double* out) {
  with_type(type, [&](auto t) {
    using T = decltype(t);
    launch("row norms", norms_of_rows<T>, blocks_for(rows, kThreads / 32), kThreads, 0, work, static_cast<const T*>(x), rows, width, out);
  });
}

void rope(Work& work, DType type, void* x, int rows, int n_heads, int half, const int* positions, const float* cosines,
          const float* sines) {
  const long pairs = static_cast<long>(rows) * n_heads * half;
  with_type(type, [&](auto t) {
    using T = decltype(t);
    launch("rope", rope_pairs<T>, blocks_for(pairs, kThreads), kThreads, 0, work, static_cast<T*>(x), pairs, n_heads, half, positions,
           cosines, sines);
  });
}

void convert(Work& work, Numbers from, long n, DType to_type, void* to) {
  with_type(to_type, [&](auto t) {
    with_type(from.type, [&](auto w) {
      using T = decltype(t);
      using W = decltype(w);
      launch("convert", convert_numbers<T, W>, blocks_for(n, kThreads), kThreads, 0, work, static_cast<const W*>(from.data), n,
             static_cast<T*>(to));
    });
  });
}

void split_to_bf16(Work& work, const float* x, long n, void* parts) {
  launch("split_to_bf16", split_numbers, blocks_for(n, kThreads), kThreads, 0, work, x, n, static_cast<Bfloat*>(parts));
}

void synthesize(Work& work, DType type, long n, std::uint64_t seed, void* to) {
  with_type(type, [&](auto t) {
    using T = decltype(t);
    launch("synthetic weights", synthesize_numbers<T>, blocks_for(n, kThreads), kThreads, 0, work, n, seed, static_cast<T*>(to));
  });
}

void copy_all(Work& work, const CopyJob* jobs, int n) {
  launch("copy_all", copy_jobs, dim3(static_cast<unsigned>(n), 4), 64, 0, work, jobs);
}

}  // namespace kvscope::cuda
