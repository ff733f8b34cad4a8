// SPDX-License-Identifier: Apache-2.0
// What policies do to the slots of one head: keep some, join some, look which keys are alike.
#include "backend/cuda/kernels/kernels.h"
#include "backend/cuda/kernels/launch.h"

namespace kvscope::cuda {

namespace {

constexpr int kMoveThreads = 256, kMovePer = 4;

/// Rows of so many words leave a matrix, in place; n stay. One block for all of it: what it writes lies before everything that it has yet
/// to read.
template <class Word>
__device__ inline void close_up(Word* rows, int words, int n, const int* gone, int n_gone) {
  const long count = static_cast<long>(n) * words;
  for (long begin = 0; begin < count; begin += kMoveThreads * kMovePer) {
    Word held[kMovePer];
#pragma unroll
    for (int i = 0; i < kMovePer; ++i) {
      const long at = begin + threadIdx.x + i * kMoveThreads;
      if (at >= count) continue;
      const int row = static_cast<int>(at / words);
      int low = 0, high = n_gone;  // how many that went stood before the row that becomes this one
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

template <class Word>
__global__ void __launch_bounds__(kMoveThreads) move_up(const RemoveJob* jobs, const int* all_gone) {
  const RemoveJob job = jobs[blockIdx.x];
  close_up(static_cast<Word*>(blockIdx.y == 0 ? job.k : job.v), job.row_bytes / static_cast<int>(sizeof(Word)), job.n,
           all_gone + job.first_gone, job.n_gone);
}

__global__ void __launch_bounds__(kMoveThreads) move_entries_back(const OrderJob* jobs, const int* all_gone) {
  const OrderJob job = jobs[blockIdx.x];
  const int *const gone = all_gone + job.first_gone, *const entries = gone + job.n_gone;
  close_up(job.order, 1, job.n, gone, job.n_gone);
  for (int i = static_cast<int>(threadIdx.x); i < job.n_gone; i += kMoveThreads) job.order[job.n + i] = entries[i];
}

constexpr int kGatherBlocks = 4;  // of each matrix

template <class Word>
__global__ void __launch_bounds__(kMoveThreads) gather_matrix(const GatherJob* jobs) {
  const GatherJob job = jobs[blockIdx.x];
  const int words = job.row_bytes / static_cast<int>(sizeof(Word));
  const long count = static_cast<long>(job.n) * words;
  for (long at = static_cast<long>(blockIdx.y) * kMoveThreads + threadIdx.x; at < count; at += kGatherBlocks * kMoveThreads)
    static_cast<Word*>(job.to)[at] = static_cast<const Word*>(job.from)[static_cast<long>(job.order[at / words]) * words + at % words];
}

/// body(Word{}) with the widest word that rows of so many bytes are made of.
template <class Body>
void with_word(int row_bytes, const Body& body) {
  if (row_bytes % 16 == 0) return body(uint4{});
  if (row_bytes % 8 == 0) return body(std::uint64_t{});
  body(std::uint16_t{});
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

/// Where the key of this slot is, in rows.
/// The j-th slot that is met.
__device__ inline int slot_to(const PairJob& job, int j) { return job.to ? job.to[j] : j + (j >= job.from[0]); }
__device__ inline long key_row(const PairJob& job, int slot) { return job.rows ? job.rows[slot] : slot; }

constexpr int kNormWarps = 8;

template <class T>
__global__ void norms_of_rows(const PairJob* jobs, int d) {
  const PairJob& job = jobs[blockIdx.y];
  const int row = static_cast<int>(blockIdx.x) * kNormWarps + static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  if (row >= job.n) return;
  const T* const k = static_cast<const T*>(job.k) + key_row(job, row) * d;
  double sum = 0;
  for (int i = lane; i < d; i += 32) {
    const double x = static_cast<double>(to_float(k[i]));
    sum += x * x;
  }
  sum = sum_over_lanes(sum);
  if (lane == 0) job.norms[row] = sqrt(sum);
}

constexpr int kFrom = 8, kPairWarps = 4;

/// visit(i, j, cosine) for the kRows rows `from` of this block and every j of `to`, warp w taking j = w, w + 4, ...; on lane 0 only. A
/// single row is the usual step: then norms are made on the way instead of reading all keys once more.
template <class T, int kRows, class Visit>
__device__ inline void for_each_cosine(const PairJob& job, int d, float* tile, const Visit& visit) {
  constexpr bool kAlone = kRows == 1;
  const T* const k = static_cast<const T*>(job.k);
  const int *const from = job.from, n_from = job.n_from, n_to = job.n_to;
  const int t = static_cast<int>(threadIdx.x), lane = t % 32, first = static_cast<int>(blockIdx.x) * kRows;
  for (int i = t; i < kRows * d; i += kPairWarps * 32) {
    const int row = first + i / d;
    tile[i] = row < n_from ? to_float(k[key_row(job, from[row]) * d + i % d]) : 0.0f;
  }
  __syncthreads();
  double own = 0;
  for (int c = lane; kAlone && c < d; c += 32) own += static_cast<double>(tile[c]) * static_cast<double>(tile[c]);
  if (kAlone) own = sqrt(sum_over_lanes(own));
  for (int j = t / 32; j < n_to; j += kPairWarps) {
    const int slot = slot_to(job, j);
    const T* key = k + key_row(job, slot) * d;
    double dots[kRows] = {}, square = 0;
    for (int c = lane; c < d; c += 32) {
      const double x = static_cast<double>(to_float(key[c]));
      if (kAlone) square += x * x;
#pragma unroll
      for (int i = 0; i < kRows; ++i) dots[i] = fma(static_cast<double>(tile[i * d + c]), x, dots[i]);
    }
    const double norm = kAlone ? sqrt(sum_over_lanes(square)) : job.norms[slot];
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      const double dot = sum_over_lanes(dots[i]);
      if (lane != 0 || first + i >= n_from) continue;
      const double both = job.by_product ? 1.0 : (kAlone ? own : job.norms[from[first + i]]) * norm;
      visit(i, j, both > 0 ? dot / both : 0.0);
    }
  }
}

template <class T>
__global__ void __launch_bounds__(kPairWarps * 32) all_cosines(const PairJob* jobs, int d) {
  KVSCOPE_DYNAMIC_SHARED(shared);
  const PairJob& job = jobs[blockIdx.y];
  if (static_cast<int>(blockIdx.x) * kFrom >= job.n_from) return;
  for_each_cosine<T, kFrom>(job, d, reinterpret_cast<float*>(shared), [&](int i, int j, double cosine) {
    job.values[(static_cast<long>(blockIdx.x) * kFrom + i) * job.n_to + j] = cosine;
  });
}

template <class T, int kRows>
__global__ void __launch_bounds__(kPairWarps * 32) nearest_rows(const PairJob* jobs, int d) {
  KVSCOPE_DYNAMIC_SHARED(shared);
  __shared__ double best[kPairWarps][kRows];
  __shared__ int place[kPairWarps][kRows];
  const PairJob& job = jobs[blockIdx.y];
  if (static_cast<int>(blockIdx.x) * kRows >= job.n_from) return;
  const int t = static_cast<int>(threadIdx.x);
  if (t < kPairWarps * kRows) {
    best[t / kRows][t % kRows] = -INFINITY;
    place[t / kRows][t % kRows] = 0;
  }
  __syncthreads();
  for_each_cosine<T, kRows>(job, d, reinterpret_cast<float*>(shared), [&](int i, int j, double cosine) {
    if (!(cosine > best[t / 32][i])) return;  // of equal ones the first; NaN never
    best[t / 32][i] = cosine;
    place[t / 32][i] = j;
  });
  __syncthreads();
  const int row = static_cast<int>(blockIdx.x) * kRows + t;
  if (t >= kRows || row >= job.n_from) return;
  double most = best[0][t];
  int at = place[0][t];
  for (int w = 1; w < kPairWarps; ++w) {
    const bool better = best[w][t] > most || (best[w][t] == most && place[w][t] < at);
    most = better ? best[w][t] : most;
    at = better ? place[w][t] : at;
  }
  job.places[row] = job.places_are_slots ? slot_to(job, at) : at;
  job.values[row] = most == -INFINITY ? NAN : most;
}

}  // namespace

void remove_rows(Work& work, const RemoveJob* jobs, int n_jobs, int row_bytes, const int* gone) {
  with_word(row_bytes, [&](auto word) {
    const dim3 grid(static_cast<unsigned>(n_jobs), 2);
    launch("removal of slots", move_up<decltype(word)>, grid, kMoveThreads, 0, work, jobs, gone);
  });
}

void move_back(Work& work, const OrderJob* jobs, int n_jobs, const int* gone) {
  launch("new order of slots", move_entries_back, static_cast<unsigned>(n_jobs), kMoveThreads, 0, work, jobs, gone);
}

void gather_rows(Work& work, const GatherJob* jobs, int n_jobs, int row_bytes) {
  with_word(row_bytes, [&](auto word) {
    const dim3 grid(static_cast<unsigned>(n_jobs), kGatherBlocks);
    launch("copy of slots", gather_matrix<decltype(word)>, grid, kMoveThreads, 0, work, jobs);
  });
}

void combine_slots(Work& work, DType type, const CombineStep* steps, const int* first_step, int n_caches, int d, const int* members,
                   const double* weights) {
  with_type(type, [&](auto t) {
    launch("merge of slots", combine_rows<decltype(t)>, static_cast<unsigned>(n_caches), 64, 0, work, steps, first_step, d, members,
           weights);
  });
}

void key_norms(Work& work, DType type, const PairJob* jobs, int n_jobs, int most_n, int d) {
  with_type(type, [&](auto t) {
    launch("norms of keys", norms_of_rows<decltype(t)>, dim3(blocks_for(most_n, kNormWarps), static_cast<unsigned>(n_jobs)),
           kNormWarps * 32, 0, work, jobs, d);
  });
}

void cosines(Work& work, DType type, const PairJob* jobs, int n_jobs, int most_from, int d) {
  with_type(type, [&](auto t) {
    launch("similarity of keys", all_cosines<decltype(t)>, dim3(blocks_for(most_from, kFrom), static_cast<unsigned>(n_jobs)),
           kPairWarps * 32, sizeof(float) * kFrom * static_cast<std::size_t>(d), work, jobs, d);
  });
}

void nearest(Work& work, DType type, const PairJob* jobs, int n_jobs, int most_from, int d) {
  with_type(type, [&](auto t) {
    using T = decltype(t);
    const auto start = [&](auto kernel, int rows) {
      launch("nearest keys", kernel, dim3(blocks_for(most_from, rows), static_cast<unsigned>(n_jobs)), kPairWarps * 32,
             sizeof(float) * static_cast<std::size_t>(rows) * static_cast<std::size_t>(d), work, jobs, d);
    };
    if (most_from == 1) return start(nearest_rows<T, 1>, 1);
    start(nearest_rows<T, kFrom>, kFrom);
  });
}

}  // namespace kvscope::cuda
