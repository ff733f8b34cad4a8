// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "backend/cpu/cpu_backend.h"
#include "core/error.h"

// Both forms of attention do the same operations per query row, in the same order: dots, scale and bias, exp against the row's maximum,
// the weighted sum of values slot by slot, one division at the end. So a decoded row has the bits of the same row of a prompt, and
// neither segment bounds nor the other rows of a call matter.

namespace kvscope::cpu {

namespace {

constexpr int kRotatedKeys = 64;  // keys rotated at a time
constexpr int kPackingPays = 24;  // rows times group, that is uses of one packed key

template <class T>
void finish_row(const Kernels<T>& kernels, T* out, int width, T sum, const T* weights, int n, void* probabilities) {
  kernels.divide(out, width, sum, out);
  if (probabilities) kernels.divide(weights, n, sum, static_cast<T*>(probabilities));
}

}  // namespace

/// q . k in z becomes z of LogitRule, which goes to `logits` where asked, then the bias comes to it. Returns the largest.
template <class T>
T CpuBackend<T>::logits_of(const LogitRule& rule, T* z, int n, const double* bias, T* logits) const {
  const T scale = static_cast<T>(rule.scale != 0 ? rule.scale : 1.0 / std::sqrt(static_cast<double>(config_.head_dim)));
  if (rule.cap == 0) return kernels_.scale_bias_max(z, n, scale, bias, logits);
  kernels_.soft_cap(z, n, scale, static_cast<T>(rule.cap));
  return kernels_.scale_bias_max(z, n, T(1), bias, logits);
}

/// What the slot adds to the sums of a query head whose other weights are added up in `sum`.
template <class T>
void CpuBackend<T>::add_further(FurtherSlot& slot, int head, T top, T& sum, T* out) const {
  const auto g = static_cast<std::size_t>(head), width = this->width();
  const T weight = std::exp(static_cast<T>(slot.logits[g]) - top);
  sum += weight;
  for (std::size_t i = 0; i < width; ++i) out[i] += weight * static_cast<T>(slot.values[g * width + i]);
  slot.probabilities.as<T>()[g] = weight / sum;
}

template <class T>
void CpuBackend<T>::attend(std::span<const AttentionJob> jobs) {
  double work = 0;
  for (const AttentionJob& job : jobs) {
    int n = 0;
    for (const KvSegment& s : job.slots) n += s.n;
    work += 4.0 * n * config_.group() * config_.head_dim;
  }
  if (jobs.empty()) return;
  const int n_jobs = static_cast<int>(jobs.size());
  pool_.parallel_for_worker(n_jobs, grain_for(work / n_jobs, 1), [&](int begin, int end, int worker) {
    for (int i = begin; i < end; ++i) attend_one(jobs[static_cast<std::size_t>(i)], scratch_[static_cast<std::size_t>(worker)]);
  });
}

template <class T>
void CpuBackend<T>::attend_one(const AttentionJob& job, Scratch& scratch) {
  const int group = config_.group(), width = config_.head_dim;
  int n = 0;
  for (const KvSegment& s : job.slots) n += s.n;
  T* out = static_cast<T*>(job.out);
  std::fill_n(out, group * width, T(0));
  if (n == 0) return;

  const std::size_t row = (static_cast<std::size_t>(n) + 15) / 16 * 16;
  T* z = scratch.of<T>(row * static_cast<std::size_t>(group) + static_cast<std::size_t>(kRotatedKeys * width));
  T* rotated = z + row * static_cast<std::size_t>(group);
  Dots<T> d;
  d.x = static_cast<const T*>(job.q);
  d.ldx = d.ldw = d.k = width;
  d.w_type = dtype();
  d.ldy = static_cast<long>(row);
  const std::shared_ptr<const RopeRows<T>> rope = job.rotate_by_index ? ropes_[static_cast<std::size_t>(job.rope)].rows(n) : nullptr;
  const int half = rope ? static_cast<int>(rope->half) : 0;
  for (int first_head = 0; first_head < group; first_head += kDirectRows) {  // at most kDirectRows: no scratch inside
    d.rows = std::min(kDirectRows, group - first_head);
    d.x = static_cast<const T*>(job.q) + first_head * width;
    int at = 0;
    for (const KvSegment& s : job.slots) {
      const T* k = static_cast<const T*>(s.k);
      const int step = job.rotate_by_index ? kRotatedKeys : std::max(s.n, 1);
      for (int j = 0; j < s.n; j += step) {
        d.cols = std::min(step, s.n - j);
        d.w = k + static_cast<long>(j) * width;
        if (job.rotate_by_index) {
          for (int i = 0; i < d.cols; ++i) {
            const T* key = k + static_cast<long>(j + i) * width;
            kernels_.rotate(key, half, rope->cosines(at + j + i), rope->sines(at + j + i), rotated + i * width);
            std::copy(key + 2 * half, key + width, rotated + i * width + 2 * half);
          }
          d.w = rotated;
        }
        d.y = z + static_cast<std::size_t>(first_head) * row + at + j;
        kernels_.dots(d);
      }
      at += s.n;
    }
  }

  std::vector<T> sums(static_cast<std::size_t>(group));
  for (int g = 0; g < group; ++g) {
    T* zg = z + static_cast<std::size_t>(g) * row;
    T* logits = job.logits ? static_cast<T*>(job.logits) + static_cast<std::size_t>(g) * static_cast<std::size_t>(n) : nullptr;
    T top = logits_of(job.rule, zg, n, job.bias, logits);
    if (job.further) top = std::max(top, static_cast<T>(job.further->logits[static_cast<std::size_t>(g)]));
    sums[static_cast<std::size_t>(g)] = kernels_.exp_sum(zg, n, top);
    if (job.further) add_further(*job.further, g, top, sums[static_cast<std::size_t>(g)], out + g * width);
  }
  int at = 0;
  for (const KvSegment& s : job.slots) {
    kernels_.add_weighted_rows(z + at, static_cast<long>(row), group, static_cast<const T*>(s.v), s.n, width, out, width);
    at += s.n;
  }
  for (int g = 0; g < group; ++g) {
    T* p = job.probabilities ? static_cast<T*>(job.probabilities) + static_cast<std::size_t>(g) * static_cast<std::size_t>(n) : nullptr;
    finish_row(kernels_, out + g * width, width, sums[static_cast<std::size_t>(g)], z + static_cast<std::size_t>(g) * row, n, p);
  }
}

/// Keys of all heads in the order that dots_packed() wants; false where that does not pay or fit.
template <class T>
bool CpuBackend<T>::pack_keys(const PromptAttentionJob& job) {
  const int d = config_.head_dim, lanes = kernels_.lanes, seen = job.first + job.rows, blocks = (seen + lanes - 1) / lanes;
  if (!kernels_.packs(d) || job.rows * config_.group() < kPackingPays) return false;
  const std::size_t per_head = static_cast<std::size_t>(blocks) * static_cast<std::size_t>(lanes) * width();
  T* all = packed_keys_.of<T>(per_head * static_cast<std::size_t>(config_.n_kv_heads));
  pool_.parallel_for(config_.n_kv_heads, grain_for(static_cast<double>(per_head), 1), [&](int begin, int end) {
    for (int h = begin; h < end; ++h) {
      T* packed = all + static_cast<std::size_t>(h) * per_head;
      std::fill(packed + per_head - static_cast<std::size_t>(lanes * d), packed + per_head, T(0));  // the last block may be partial
      int at = 0;
      for (const KvSegment& s : job.slots[static_cast<std::size_t>(h)]) {
        const T* k = static_cast<const T*>(s.k);
        for (int j = 0; j < s.n && at < seen; ++j, ++at, k += d) {
          T* to = packed + static_cast<std::size_t>(at / lanes) * static_cast<std::size_t>(lanes * d) + at % lanes;
          for (int i = 0; i < d; ++i) to[i * lanes] = k[i];
        }
      }
      KVSCOPE_ASSERT(at == seen);
    }
  });
  return true;
}

template <class T>
void CpuBackend<T>::attend_prompt(const PromptAttentionJob& job) {
  KVSCOPE_ASSERT(job.slots.size() == static_cast<std::size_t>(config_.n_kv_heads) && job.first >= 0);
  KVSCOPE_ASSERT(job.probability_rows <= job.rows && job.logit_rows <= job.rows);
  if (job.rows <= 0) return;
  const bool packed = pack_keys(job);
  const bool sums_columns = !job.columns.empty() || !job.outside.empty();
  const int together = sums_columns ? config_.group() : 1;  // heads of a tile
  const int tile_rows = prompt_tile_rows(sums_columns, config_.group()), tiles = (job.rows + tile_rows - 1) / tile_rows;
  if (sums_columns) prepare_column_sums(job);
  const double work = 4.0 * tile_rows * together * (job.first + job.rows / 2) * config_.head_dim;
  const int units = config_.n_heads / together;
  pool_.parallel_for_worker(tiles * units, grain_for(work, 1), [&](int begin, int end, int worker) {
    for (int i = begin; i < end; ++i) {
      const int tile = tiles - 1 - i / units, unit = i % units;  // the longest rows first, so that the threads end together
      const int r = tile * tile_rows, rows = std::min(tile_rows, job.rows - r);
      const long row = (job.first + r + rows + 15) / 16 * 16;  // the last row's slots
      const std::size_t count = static_cast<std::size_t>(rows) * static_cast<std::size_t>(together);
      T* z = scratch_[static_cast<std::size_t>(worker)].template of<T>((static_cast<std::size_t>(row) + 1) * count);
      T* sums = z + static_cast<std::size_t>(row) * count;
      for (int g = 0; g < together; ++g) attend_rows(job, unit * together + g, r, rows, packed, z + g * rows * row, row, sums + g * rows);
      if (sums_columns) sum_columns_of_tile(job, unit, tile, rows, z, row, sums);
    }
  });
  if (sums_columns) sum_columns(job);
  if (job.sums_done) job.sums_done();
}

/// z [rows, ldz] = q . k, not scaled, for every slot that one of the rows sees (and perhaps some more).
template <class T>
void CpuBackend<T>::prompt_logits(const PromptAttentionJob& job, int head, int first_row, int rows, bool packed, T* z, long ldz) {
  const int d = config_.head_dim, seen = job.first + first_row + rows, kv_head = head / config_.group(), lanes = kernels_.lanes;
  const int from = job.first_slot(first_row), first_block = from / lanes;
  const long stride = static_cast<long>(config_.n_heads) * d;
  const T* q = static_cast<const T*>(job.q) + first_row * stride + static_cast<long>(head) * d;
  if (packed) {
    const int all_blocks = (job.first + job.rows + lanes - 1) / lanes;
    const T* keys = packed_keys_.of<T>(0) + static_cast<std::size_t>(kv_head) * static_cast<std::size_t>(all_blocks * lanes) * width();
    return kernels_.dots_packed(q, stride, rows, keys + static_cast<std::size_t>(first_block * lanes) * width(),
                                (seen + lanes - 1) / lanes - first_block, d, z + first_block * lanes, ldz);
  }
  Dots<T> dots;
  dots.x = q;
  dots.ldx = stride;
  dots.rows = rows;
  dots.w_type = dtype();
  dots.ldw = dots.k = d;
  dots.ldy = ldz;
  int at = 0;
  for (const KvSegment& s : job.slots[static_cast<std::size_t>(kv_head)]) {
    const int begin = std::clamp(from - at, 0, s.n), end = std::min(s.n, seen - at);
    if (end <= 0) break;
    dots.cols = end - begin;
    dots.w = static_cast<const T*>(s.k) + static_cast<long>(begin) * d;
    dots.y = z + at + begin;
    if (dots.cols > 0) kernels_.dots(dots);
    at += end;
  }
  KVSCOPE_ASSERT(at == seen);
}

/// z [rows, row] becomes exp(logit - its row's maximum), 0 for what a row does not see; sums [rows] what that adds up to.
template <class T>
void CpuBackend<T>::attend_rows(const PromptAttentionJob& job, int head, int first_row, int rows, bool packed, T* z, long row, T* sums) {
  const int width = config_.head_dim, all = job.first + job.rows;
  const long stride = static_cast<long>(config_.n_heads) * width;
  T* out = static_cast<T*>(job.out) + first_row * stride + static_cast<long>(head) * width;
  prompt_logits(job, head, first_row, rows, packed, z, row);

  const auto matrix_row = [&](void* matrix, int matrix_rows, int r) -> T* {  // of a matrix of the last rows
    const int at = first_row + r - (job.rows - matrix_rows);
    if (!matrix || at < 0) return nullptr;
    return static_cast<T*>(matrix) +
           (static_cast<std::size_t>(head) * static_cast<std::size_t>(matrix_rows) + static_cast<std::size_t>(at)) *
               static_cast<std::size_t>(all);
  };
  for (int r = 0; r < rows; ++r) {
    const int n = job.first + first_row + r + 1, from = job.first_slot(first_row + r);
    T *const seen = z + r * row + from, *const logits = matrix_row(job.logits, job.logit_rows, r);
    const T top = logits_of(job.layer.logits, seen, n - from, nullptr, logits ? logits + from : nullptr);
    if (logits) {
      std::fill_n(logits, from, -std::numeric_limits<T>::infinity());
      std::fill(logits + n, logits + all, -std::numeric_limits<T>::infinity());
    }
    sums[r] = kernels_.exp_sum(seen, n - from, top);
    std::fill_n(z + r * row, from, T(0));
    std::fill(z + r * row + n, z + (r + 1) * row, T(0));
    std::fill_n(out + r * stride, width, T(0));
  }
  weigh_values(job, head, first_row, rows, z, row, out);
  for (int r = 0; r < rows; ++r) {
    const int n = job.first + first_row + r + 1;
    T* p = matrix_row(job.probabilities, job.probability_rows, r);
    finish_row(kernels_, out + r * stride, width, sums[r], z + r * row, n, p);
    if (p) std::fill(p + n, p + all, T(0));
  }
}

/// Adds the values to out, weighted by z: what the first row sees for all rows in one pass (others that no longer see it have a weight of
/// 0 there), then each row's own rest (at most rows - 1 slots).
template <class T>
void CpuBackend<T>::weigh_values(const PromptAttentionJob& job, int head, int first_row, int rows, const T* z, long row, T* out) const {
  const int width = config_.head_dim, seen = job.first + first_row + rows;  // by the last row
  const long stride = static_cast<long>(config_.n_heads) * width;
  const std::vector<KvSegment>& segments = job.slots[static_cast<std::size_t>(head / config_.group())];
  const int from = job.first_slot(first_row), common = job.first + first_row + 1;
  int at = 0;
  for (const KvSegment& s : segments) {
    const int begin = std::clamp(from - at, 0, s.n), end = std::min(s.n, common - at);
    if (end <= 0) break;
    if (begin < end) {
      const T* v = static_cast<const T*>(s.v) + static_cast<long>(begin) * width;
      kernels_.add_weighted_rows(z + at + begin, row, rows, v, end - begin, width, out, stride);
    }
    at += end;
  }
  at = 0;
  for (const KvSegment& s : segments) {
    for (int r = 1; r < rows; ++r) {
      const int begin = std::max(common, at), end = std::min(common + r, at + s.n);
      if (begin >= end) continue;
      const T* v = static_cast<const T*>(s.v) + static_cast<long>(begin - at) * width;
      kernels_.add_weighted_rows(z + r * row + begin, row, 1, v, end - begin, width, out + r * stride, stride);
    }
    at += s.n;
    if (at >= seen) break;
  }
}

template void CpuBackend<float>::attend(std::span<const AttentionJob>);
template void CpuBackend<double>::attend(std::span<const AttentionJob>);
template void CpuBackend<float>::attend_prompt(const PromptAttentionJob&);
template void CpuBackend<double>::attend_prompt(const PromptAttentionJob&);

}  // namespace kvscope::cpu
