// SPDX-License-Identifier: Apache-2.0
// One query row over the slots of one KV head, for many heads and lanes at once. Slots are cut into chunks of kChunkSlots, counted from
// slot 0, whatever the segments are; a block does one chunk for the query heads that share its keys, so every key and value is read once. A
// second kernel adds the chunks of a job in order; a third writes probabilities where they are asked for.
#include "backend/cuda/kernels/kernels.h"
#include "backend/cuda/kernels/launch.h"
#include "backend/cuda/kernels/segments.h"

namespace kvscope::cuda {

namespace {

constexpr int kThreads = 128, kWarps = kThreads / 32, kBatch = 4;
static_assert(kChunkSlots == kThreads, "each thread finds one slot");
constexpr int kMergeColumns = 64, kMergeParts = 8, kMergeWidth = 4, kMergeChunks = 128;
static_assert(kMergeColumns * kMergeWidth >= 256, "as wide as a head can be");

/// A row of d numbers is read by `lanes` neighbouring lanes (a power of two), each kPer packs of kPack numbers: pack l, l + lanes, ...
/// kHeads query heads at a time.
template <class T, int kPack, int kPer, int kHeads>
__global__ void __launch_bounds__(kThreads) decode_chunk(DecodeArgs a, int lanes) {
  __shared__ const T *keys[kChunkSlots], *values[kChunkSlots];
  __shared__ float biases[kChunkSlots], weights[kHeads][kChunkSlots];
  KVSCOPE_DYNAMIC_SHARED(shared);  // floats [kWarps, kHeads, d]
  const DecodeItem item = a.items[blockIdx.x];
  const DecodeJob& job = a.jobs[item.job];
  const int t = static_cast<int>(threadIdx.x), warp = t / 32, d = a.d;
  const int first_head = static_cast<int>(blockIdx.y) * kHeads, heads = min(kHeads, a.group - first_head);
  const int begin = item.chunk * kChunkSlots, count = min(kChunkSlots, job.n - begin);
  const int lane = t % lanes, part = t / lanes, parts = kThreads / lanes, packs = d / kPack;
  if (t < count) {
    const Segment& s = segment_of(a.segments + job.first_segment, job.n_segments, begin + t);
    keys[t] = static_cast<const T*>(s.k) + row_of(s, s.key_rows, begin + t) * d;
    values[t] = static_cast<const T*>(s.v) + row_of(s, s.value_rows, begin + t) * d;
    biases[t] = (job.bias ? job.bias[begin + t] : 0.0f) + (s.bias ? s.bias[row_of(s, s.key_rows, begin + t)] : 0.0f);
  }
  float q[kHeads][kPer * kPack] = {};
#pragma unroll
  for (int h = 0; h < kHeads; ++h)
#pragma unroll
    for (int p = 0; p < kPer; ++p)
      if (h < heads && lane + p * lanes < packs)
        unpack(load<T, kPack>(static_cast<const T*>(job.q) + static_cast<long>(first_head + h) * d + (lane + p * lanes) * kPack),
               q[h] + p * kPack);
  __syncthreads();

  const auto load_rows = [&](const T* const* rows, int s, Pack<T, kPack>(&raw)[kBatch][kPer]) {
#pragma unroll
    for (int b = 0; b < kBatch; ++b)
#pragma unroll
      for (int p = 0; p < kPer; ++p) {
        raw[b][p] = Pack<T, kPack>{};
        if (s + b * parts < count && lane + p * lanes < packs) raw[b][p] = load<T, kPack>(rows[s + b * parts] + (lane + p * lanes) * kPack);
      }
  };
  const float scale = static_cast<float>(1.0 / sqrt(static_cast<double>(d)));
  for (int first = 0; first < count; first += kBatch * parts) {  // the same turns for all lanes of a warp
    Pack<T, kPack> raw[kBatch][kPer];
    load_rows(keys, first + part, raw);
#pragma unroll
    for (int b = 0; b < kBatch; ++b) {
      float k[kPer * kPack];
#pragma unroll
      for (int p = 0; p < kPer; ++p) unpack(raw[b][p], k + p * kPack);
#pragma unroll
      for (int h = 0; h < kHeads; ++h) {
        float dot = 0;
#pragma unroll
        for (int i = 0; i < kPer * kPack; ++i) dot = fmaf(q[h][i], k[i], dot);
        dot = sum_over_lanes(dot, lanes);
        const int s = first + part + b * parts;
        if (lane == 0 && h < heads && s < count) weights[h][s] = dot * scale;
      }
    }
  }
  __syncthreads();

  for (int h = warp; h < heads; h += kWarps) {
    const int l = t % 32;
    const long row = static_cast<long>(first_head + h) * job.n + begin, place = static_cast<long>(blockIdx.x) * a.group + first_head + h;
    float z[kChunkSlots / 32], top = -INFINITY, sum = 0;
#pragma unroll
    for (int i = 0; i < kChunkSlots / 32; ++i) {
      const int s = l + 32 * i;
      z[i] = -INFINITY;
      if (s >= count) continue;
      z[i] = weights[h][s];
      if (job.logits) static_cast<T*>(job.logits)[row + s] = from_float<T>(z[i]);
      z[i] += biases[s];
      if (job.probabilities) a.raw[job.raw + row + s] = z[i];
      top = fmaxf(top, z[i]);
    }
    top = max_over_lanes(top);
#pragma unroll
    for (int i = 0; i < kChunkSlots / 32; ++i) {
      const float e = top == -INFINITY ? 0.0f : expf(z[i] - top);
      weights[h][l + 32 * i] = e;
      sum += e;
    }
    sum = sum_over_lanes(sum);
    if (l == 0) {
      a.tops[place] = top;
      a.sums[place] = sum;
    }
  }
  __syncthreads();

  float out[kHeads][kPer * kPack] = {};
  for (int first = part; first < count; first += kBatch * parts) {
    Pack<T, kPack> raw[kBatch][kPer];
    load_rows(values, first, raw);
#pragma unroll
    for (int b = 0; b < kBatch; ++b) {
      float v[kPer * kPack];
#pragma unroll
      for (int p = 0; p < kPer; ++p) unpack(raw[b][p], v + p * kPack);
      if (first + b * parts >= count) continue;
#pragma unroll
      for (int h = 0; h < kHeads; ++h) {
        const float weight = weights[h][first + b * parts];
#pragma unroll
        for (int i = 0; i < kPer * kPack; ++i) out[h][i] = fmaf(weight, v[i], out[h][i]);
      }
    }
  }
  float* const of_warps = reinterpret_cast<float*>(shared);
#pragma unroll
  for (int h = 0; h < kHeads; ++h)
#pragma unroll
    for (int i = 0; i < kPer * kPack; ++i) {
      float x = out[h][i];
      for (int step = lanes; step < 32; step *= 2) x += __shfl_xor_sync(0xffffffffu, x, step);
      const int column = (lane + i / kPack * lanes) * kPack + i % kPack;
      if (t % 32 < lanes && h < heads && column < d) of_warps[(warp * kHeads + h) * d + column] = x;
    }
  __syncthreads();
  for (int i = t; i < heads * d; i += kThreads) {
    float sum = 0;
    for (int w = 0; w < kWarps; ++w) sum += of_warps[w * kHeads * d + i];
    a.partial[(static_cast<long>(blockIdx.x) * a.group + first_head) * d + i] = sum;
  }
}

/// A block for each query head of a job: its threads take a column and a part of the chunks each (chunks p, p + kParts, ...), then the
/// parts are added in order.
template <class T>
__global__ void __launch_bounds__(kMergeColumns* kMergeParts) decode_merge(DecodeArgs a) {
  __shared__ float of_parts[kMergeParts][kMergeColumns];
  __shared__ float shares[kMergeChunks];
  const DecodeJob& job = a.jobs[blockIdx.x];
  const int head = static_cast<int>(blockIdx.y), group = a.group, t = static_cast<int>(threadIdx.x);
  const int column = t % kMergeColumns, part = t / kMergeColumns;
  const auto place = [&](int item) { return static_cast<long>(job.first_item + item) * group + head; };
  float top = -INFINITY;
  for (int i = t % 32; i < job.n_items; i += 32) top = fmaxf(top, a.tops[place(i)]);
  top = max_over_lanes(top);  // every warp looks at all chunks
  if (job.further) top = fmaxf(top, job.further[head]);
  const float of_further = job.further ? expf(job.further[head] - top) : 0.0f;
  float sum = of_further, out[kMergeWidth] = {};
  for (int first = 0; first < job.n_items; first += kMergeChunks) {
    const int n = min(kMergeChunks, job.n_items - first);
    __syncthreads();
    for (int i = t; i < n; i += kMergeColumns * kMergeParts) {
      const float of_chunk = a.tops[place(first + i)];
      shares[i] = of_chunk == -INFINITY ? 0.0f : expf(of_chunk - top);
    }
    __syncthreads();
    float of_lane = 0;
    for (int i = t % 32; i < n; i += 32) of_lane = fmaf(shares[i], shares[i] == 0.0f ? 0.0f : a.sums[place(first + i)], of_lane);
    sum += sum_over_lanes(of_lane);
#pragma unroll
    for (int w = 0; w < kMergeWidth; ++w) {
      const int c = column + w * kMergeColumns;
      if (c >= a.d) break;
#pragma unroll 4
      for (int i = part; i < n; i += kMergeParts)
        out[w] = fmaf(shares[i], shares[i] == 0.0f ? 0.0f : a.partial[place(first + i) * a.d + c], out[w]);
    }
  }
#pragma unroll
  for (int w = 0; w < kMergeWidth; ++w) {
    const int c = column + w * kMergeColumns;
    __syncthreads();
    of_parts[part][column] = out[w];
    __syncthreads();
    if (part != 0 || c >= a.d) continue;
    float total = 0;
#pragma unroll
    for (int p = 0; p < kMergeParts; ++p) total += of_parts[p][column];
    if (job.further) total = fmaf(of_further, job.further[group + head * a.d + c], total);
    static_cast<T*>(job.out)[static_cast<long>(head) * a.d + c] = from_float<T>(job.n_items == 0 ? 0.0f : total / sum);
  }
  if (t == 0) {
    const long of_job = static_cast<long>(a.n_items + static_cast<int>(blockIdx.x)) * group + head;
    a.tops[of_job] = top;
    a.sums[of_job] = sum;
    if (job.further) static_cast<T*>(job.further_probabilities)[head] = from_float<T>(of_further / sum);
  }
}

template <class T>
__global__ void decode_probabilities(DecodeArgs a) {
  const DecodeItem item = a.items[blockIdx.x];
  const DecodeJob& job = a.jobs[item.job];
  const int head = static_cast<int>(blockIdx.y), j = item.chunk * kChunkSlots + static_cast<int>(threadIdx.x);
  if (!job.probabilities || j >= job.n) return;
  const long of_job = static_cast<long>(a.n_items + item.job) * a.group + head, at = static_cast<long>(head) * job.n + j;
  static_cast<T*>(job.probabilities)[at] = from_float<T>(expf(a.raw[job.raw + at] - a.tops[of_job]) / a.sums[of_job]);
}

template <class T, int kPack, int kPer, int kHeads>
void start(Work& work, const DecodeArgs& a, int lanes) {
  const dim3 grid(static_cast<unsigned>(a.n_items), blocks_for(a.group, kHeads));
  launch("attention of a step", decode_chunk<T, kPack, kPer, kHeads>, grid, kThreads,
         sizeof(float) * kWarps * kHeads * static_cast<std::size_t>(a.d), work, a, lanes);
}

int power_of_two_from(int n) {
  int power = 1;
  while (power < n) power *= 2;
  return power;
}

template <class T>
__global__ void rotate_key_pairs(const Segment* segments, int n_segments, int d, const float* cosines, const float* sines, T* out) {
  const int j = static_cast<int>(blockIdx.x), half = d / 2;
  const Segment& s = segment_of(segments, n_segments, j);
  const T* const key = static_cast<const T*>(s.k) + row_of(s, s.key_rows, j) * d;
  for (int i = static_cast<int>(threadIdx.x); i < half; i += static_cast<int>(blockDim.x)) {
    const float c = cosines[static_cast<long>(j) * half + i], sine = sines[static_cast<long>(j) * half + i];
    const float x = to_float(key[i]), y = to_float(key[half + i]);
    out[static_cast<long>(j) * d + i] = from_float<T>(x * c - y * sine);
    out[static_cast<long>(j) * d + half + i] = from_float<T>(y * c + x * sine);
  }
}

}  // namespace

void decode_attention(Work& work, DType type, const DecodeArgs& a, bool any_probabilities) {
  with_type(type, [&](auto t) {
    using T = decltype(t);
    const int packs = a.d / kWide<T>, lanes = power_of_two_from(packs);
    if (a.d % kWide<T> != 0 || packs > 32) {  // any even width: pairs
      start<T, 2, 4, 4>(work, a, min(32, power_of_two_from(a.d / 2)));
    } else if (a.group == 1) {
      start<T, kWide<T>, 1, 1>(work, a, lanes);
    } else if (a.group <= 4) {
      start<T, kWide<T>, 1, 4>(work, a, lanes);
    } else {
      start<T, kWide<T>, 1, 8>(work, a, lanes);
    }
    const unsigned group = static_cast<unsigned>(a.group);
    launch("sum of a step's attention", decode_merge<T>, dim3(static_cast<unsigned>(a.n_jobs), group), kMergeColumns * kMergeParts, 0, work,
           a);
    if (any_probabilities)
      launch("probabilities of a step", decode_probabilities<T>, dim3(static_cast<unsigned>(a.n_items), group), kChunkSlots, 0, work, a);
  });
}

void rotate_keys(Work& work, DType type, const Segment* segments, int n_segments, int n, int d, const float* cosines, const float* sines,
                 void* out) {
  with_type(type, [&](auto t) {
    using T = decltype(t);
    launch("rotation of keys", rotate_key_pairs<T>, static_cast<unsigned>(n), 64, 0, work, segments, n_segments, d, cosines, sines,
           static_cast<T*>(out));
  });
}

}  // namespace kvscope::cuda
