// SPDX-License-Identifier: Apache-2.0
// What policies do to the slots of one head: keep some, join some, look which keys are alike.
#include "backend/cuda/kernels.h"
#include "backend/cuda/launch.h"

namespace kvscope::cuda {

namespace {

constexpr int kMoveThreads = 256, kMovePer = 4;

/// In place, one block for all of a matrix: what it writes lies before everything that it has yet to read.
template <class Word>
__global__ void __launch_bounds__(kMoveThreads) move_up(const RemoveJob* jobs, const int* all_gone) {
  const RemoveJob job = jobs[blockIdx.x];
  Word* const rows = static_cast<Word*>(blockIdx.y == 0 ? job.k : job.v);
  const int* const gone = all_gone + job.first_gone;
  const int words = job.row_bytes / static_cast<int>(sizeof(Word));
  const long count = static_cast<long>(job.n) * words;
  for (long begin = 0; begin < count; begin += kMoveThreads * kMovePer) {
    Word held[kMovePer];
#pragma unroll
    for (int i = 0; i < kMovePer; ++i) {
      const long at = begin + threadIdx.x + i * kMoveThreads;
      if (at >= count) continue;
      const int row = static_cast<int>(at / words);
      int low = 0, high = job.n_gone;  // how many that went stood before the row that becomes this one
      while (low < high) {
        const int middle = (low + high) / 2;
        if (gone[middle] <= row)
          low = middle + 1;
        else
          high = middle;
      }
      held[i] = rows[(static_cast<long>(row) + low) * words + at % words];
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kMovePer; ++i) {
      const long at = begin + threadIdx.x + i * kMoveThreads;
      if (at < count) rows[at] = held[i];
    }
    __syncthreads();
  }
}

/// One block per cache; a thread owns columns, so that steps of one cache see each other's results without waiting.
template <class T>
__global__ void combine_rows(const CombineStep* steps, const int* first_step, int d, const int* members, const double* weights) {
  for (int s = first_step[blockIdx.x]; s < first_step[blockIdx.x + 1]; ++s) {
    const CombineStep step = steps[s];
    T* const rows = static_cast<T*>(step.rows);
    for (int c = static_cast<int>(threadIdx.x); c < d; c += static_cast<int>(blockDim.x)) {
      double sum = 0;
      for (int i = 0; i < step.n_members; ++i)
        sum +=
            weights[step.first_weight + i] * static_cast<double>(to_float(rows[static_cast<long>(members[step.first_member + i]) * d + c]));
      rows[static_cast<long>(step.target) * d + c] = from_float<T>(static_cast<float>(step.scale * sum));
    }
  }
}

constexpr int kNormWarps = 8;

template <class T>
__global__ void norms_of_rows(const T* k, int n, int d, double* norms) {
  const int row = static_cast<int>(blockIdx.x) * kNormWarps + static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  if (row >= n) return;
  double sum = 0;
  for (int i = lane; i < d; i += 32) {
    const double x = static_cast<double>(to_float(k[static_cast<long>(row) * d + i]));
    sum += x * x;
  }
  sum = sum_over_lanes(sum);
  if (lane == 0) norms[row] = sqrt(sum);
}

constexpr int kFrom = 8, kPairWarps = 4;

/// visit(i, j, cosine) for the kFrom rows `from` of this block and every j of `to`, warp w taking j = w, w + 4, ...; on lane 0 only.
template <class T, class Visit>
__device__ inline void for_each_cosine(const T* k, int d, const double* norms, const int* from, int n_from, const int* to, int n_to,
                                       float* tile, const Visit& visit) {
  const int t = static_cast<int>(threadIdx.x), lane = t % 32, first = static_cast<int>(blockIdx.x) * kFrom;
  for (int i = t; i < kFrom * d; i += kPairWarps * 32) {
    const int row = first + i / d;
    tile[i] = row < n_from ? to_float(k[static_cast<long>(from[row]) * d + i % d]) : 0.0f;
  }
  __syncthreads();
  for (int j = t / 32; j < n_to; j += kPairWarps) {
    const T* key = k + static_cast<long>(to[j]) * d;
    double dots[kFrom] = {};
    for (int c = lane; c < d; c += 32) {
      const double x = static_cast<double>(to_float(key[c]));
#pragma unroll
      for (int i = 0; i < kFrom; ++i) dots[i] = fma(static_cast<double>(tile[i * d + c]), x, dots[i]);
    }
#pragma unroll
    for (int i = 0; i < kFrom; ++i) {
      const double dot = sum_over_lanes(dots[i]);
      if (lane != 0 || first + i >= n_from) continue;
      const double both = norms[from[first + i]] * norms[to[j]];
      visit(i, j, both > 0 ? dot / both : 0.0);
    }
  }
}

template <class T>
__global__ void __launch_bounds__(kPairWarps * 32)
    all_cosines(const T* k, int d, const double* norms, const int* from, int n_from, const int* to, int n_to, double* out) {
  KVSCOPE_DYNAMIC_SHARED(shared);
  for_each_cosine(k, d, norms, from, n_from, to, n_to, reinterpret_cast<float*>(shared),
                  [&](int i, int j, double cosine) { out[(static_cast<long>(blockIdx.x) * kFrom + i) * n_to + j] = cosine; });
}

template <class T>
__global__ void __launch_bounds__(kPairWarps * 32) nearest_rows(const T* k, int d, const double* norms, const int* from, int n_from,
                                                                const int* to, int n_to, int* places, double* values) {
  KVSCOPE_DYNAMIC_SHARED(shared);
  __shared__ double best[kPairWarps][kFrom];
  __shared__ int place[kPairWarps][kFrom];
  const int t = static_cast<int>(threadIdx.x);
  if (t < kPairWarps * kFrom) {
    best[t / kFrom][t % kFrom] = -INFINITY;
    place[t / kFrom][t % kFrom] = 0;
  }
  __syncthreads();
  for_each_cosine(k, d, norms, from, n_from, to, n_to, reinterpret_cast<float*>(shared), [&](int i, int j, double cosine) {
    if (!(cosine > best[t / 32][i])) return;  // of equal ones the first; NaN never
    best[t / 32][i] = cosine;
    place[t / 32][i] = j;
  });
  __syncthreads();
  const int row = static_cast<int>(blockIdx.x) * kFrom + t;
  if (t >= kFrom || row >= n_from) return;
  double most = best[0][t];
  int at = place[0][t];
  for (int w = 1; w < kPairWarps; ++w) {
    const bool better = best[w][t] > most || (best[w][t] == most && place[w][t] < at);
    most = better ? best[w][t] : most;
    at = better ? place[w][t] : at;
  }
  places[row] = at;
  values[row] = most == -INFINITY ? NAN : most;
}

}  // namespace

void remove_rows(cudaStream_t s, const RemoveJob* jobs, int n_jobs, int row_bytes, const int* gone) {
  const auto start = [&](auto word) {
    launch("removal of slots", move_up<decltype(word)>, dim3(static_cast<unsigned>(n_jobs), 2), kMoveThreads, 0, s, jobs, gone);
  };
  if (row_bytes % 16 == 0) return start(uint4{});
  start(std::uint16_t{});
}

void combine_slots(cudaStream_t s, DType type, const CombineStep* steps, const int* first_step, int n_caches, int d, const int* members,
             const double* weights) {
  with_type(type, [&](auto t) {
    launch("merge of slots", combine_rows<decltype(t)>, static_cast<unsigned>(n_caches), 64, 0, s, steps, first_step, d, members, weights);
  });
}

void row_norms(cudaStream_t s, DType type, const void* k, int n, int d, double* norms) {
  with_type(type, [&](auto t) {
    using T = decltype(t);
    launch("norms of keys", norms_of_rows<T>, blocks_for(n, kNormWarps), kNormWarps * 32, 0, s, static_cast<const T*>(k), n, d, norms);
  });
}

void cosines(cudaStream_t s, DType type, const void* k, int d, const double* norms, const int* from, int n_from, const int* to, int n_to,
             double* out) {
  with_type(type, [&](auto t) {
    using T = decltype(t);
    launch("similarity of keys", all_cosines<T>, blocks_for(n_from, kFrom), kPairWarps * 32,
           sizeof(float) * kFrom * static_cast<std::size_t>(d), s, static_cast<const T*>(k), d, norms, from, n_from, to, n_to, out);
  });
}

void nearest(cudaStream_t s, DType type, const void* k, int d, const double* norms, const int* from, int n_from, const int* to, int n_to,
             int* places, double* values) {
  with_type(type, [&](auto t) {
    using T = decltype(t);
    launch("nearest keys", nearest_rows<T>, blocks_for(n_from, kFrom), kPairWarps * 32, sizeof(float) * kFrom * static_cast<std::size_t>(d),
           s, static_cast<const T*>(k), d, norms, from, n_from, to, n_to, places, values);
  });
}

}  // namespace kvscope::cuda
