// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>

#include "backend/cpu/cpu_backend.h"
#include "core/error.h"
#include "core/not_available.h"
#include "core/slot_runs.h"
#include "core/vector_math.h"

namespace kvscope::cpu {

namespace {

constexpr int kPackingPays = 24;  // rows that meet one packed key

/// Norms of n keys from slot `first` on, keys [., width].
template <class T>
void measure_keys(const HeadKv& kv, std::size_t width, std::size_t first, std::size_t n) {
  const std::span<double> norms = std::span(kv.key_norms).subspan(first, n);
  row_squares(kv.k.as<T>() + first * width, width, norms);
  for (double& x : norms) x = std::sqrt(x);
}

/// Of every slot: the norm of its key. What is known of them is not computed again.
template <class T>
std::span<const double> key_norms(const HeadKv& kv, std::size_t width) {
  const std::size_t known = kv.key_norms.size(), n = static_cast<std::size_t>(kv.n_slots);
  kv.key_norms.resize(n);
  if (known < n) measure_keys<T>(kv, width, known, n - known);
  return kv.key_norms;
}

}  // namespace

template <class T>
HeadKv CpuBackend<T>::make_kv(int capacity) {
  KVSCOPE_ASSERT(capacity >= 0);
  HeadKv kv;
  kv.capacity = std::max(capacity, 1);
  const std::size_t bytes = static_cast<std::size_t>(kv.capacity) * width() * sizeof(T);
  kv.k = allocate(bytes);
  kv.v = allocate(bytes);
  return kv;
}

template <class T>
HeadKv CpuBackend<T>::copy_kv(const HeadKv& kv, int capacity) {
  HeadKv out = make_kv(std::max(capacity, kv.n_slots));
  append_kv(out, kv.k.data(), kv.v.data(), kv.n_slots);
  return out;
}

template <class T>
void CpuBackend<T>::append_kv(HeadKv& kv, const void* k, const void* v, int n) {
  if (n <= 0) return;
  const std::size_t row = width() * sizeof(T), used = static_cast<std::size_t>(kv.n_slots) * row;
  if (kv.n_slots + n > kv.capacity) {
    HeadKv larger = make_kv(grown_capacity(kv.capacity, kv.n_slots + n));
    if (used != 0) {
      std::memcpy(larger.k.data(), kv.k.data(), used);
      std::memcpy(larger.v.data(), kv.v.data(), used);
    }
    larger.n_slots = kv.n_slots;
    larger.key_norms = std::move(kv.key_norms);
    kv = std::move(larger);
  }
  std::memcpy(kv.k.as<char>() + used, k, static_cast<std::size_t>(n) * row);
  std::memcpy(kv.v.as<char>() + used, v, static_cast<std::size_t>(n) * row);
  kv.n_slots += n;
}

template <class T>
void CpuBackend<T>::append_rows(std::span<HeadKv* const> heads, const void* k, const void* v) {
  for (std::size_t h = 0; h < heads.size(); ++h)
    append_kv(*heads[h], static_cast<const T*>(k) + h * width(), static_cast<const T*>(v) + h * width(), 1);
}

template <class T>
void CpuBackend<T>::remove_slots(std::span<const RemovalJob> jobs) {
  for (const RemovalJob& job : jobs) remove_rows(*job.kv, job.gone);
}

template <class T>
void CpuBackend<T>::remove_rows(HeadKv& kv, std::span<const int> gone) {
  for (std::size_t i = 0; i < gone.size(); ++i) KVSCOPE_ASSERT(gone[i] >= 0 && gone[i] < kv.n_slots && (i == 0 || gone[i - 1] < gone[i]));
  const std::size_t row = width() * sizeof(T);
  const std::vector<SlotRun> runs = runs_without(gone, kv.n_slots);
  for (char* const rows : {kv.k.as<char>(), kv.v.as<char>()})
    for (const SlotRun& r : runs)
      std::memmove(rows + row * static_cast<std::size_t>(r.to), rows + row * static_cast<std::size_t>(r.from),
                   row * static_cast<std::size_t>(r.n));
  const auto known = std::ranges::lower_bound(gone, static_cast<int>(kv.key_norms.size()));
  remove_entries(kv.key_norms, std::span(gone.begin(), known));
  kv.n_slots -= static_cast<int>(gone.size());
}

template <class T>
void CpuBackend<T>::combine(std::span<const CombineJob> jobs) {
  // Jobs of one cache keep their order; different caches are independent.
  if (jobs.empty()) return;
  std::vector<const T*> rows;
  if (std::ranges::all_of(jobs, [&](const CombineJob& job) { return job.kv == jobs.front().kv; })) {
    for (const CombineJob& job : jobs) combine_one(job, rows);
    return;
  }
  std::vector<HeadKv*> caches;
  for (const CombineJob& job : jobs) {
    if (std::find(caches.begin(), caches.end(), job.kv) == caches.end()) caches.push_back(job.kv);
  }
  double work = 0;
  for (const CombineJob& job : jobs) work += 2.0 * static_cast<double>(job.members.size()) * config_.head_dim;
  const int n = static_cast<int>(caches.size());
  pool_.parallel_for(n, grain_for(work / n, 1), [&](int begin, int end) {
    std::vector<const T*> own;
    for (int c = begin; c < end; ++c) {
      for (const CombineJob& job : jobs) {
        if (job.kv == caches[static_cast<std::size_t>(c)]) combine_one(job, own);
      }
    }
  });
}

/// rows: memory for the job's rows.
template <class T>
void CpuBackend<T>::combine_one(const CombineJob& job, std::vector<const T*>& rows) {
  HeadKv& kv = *job.kv;
  KVSCOPE_ASSERT(job.target >= 0 && job.target < kv.n_slots);
  const auto merge = [&](T* all, std::span<const double> weights, double scale) {
    if (weights.empty()) return;
    KVSCOPE_ASSERT(weights.size() == job.members.size());
    rows.clear();
    for (const int member : job.members) {
      KVSCOPE_ASSERT(member >= 0 && member < kv.n_slots);
      rows.push_back(all + static_cast<std::size_t>(member) * width());
    }
    combine_rows(rows, weights, scale, {all + static_cast<std::size_t>(job.target) * width(), width()});
  };
  merge(kv.k.as<T>(), job.key_weights, job.key_scale);
  if (!job.key_weights.empty() && static_cast<std::size_t>(job.target) < kv.key_norms.size())
    measure_keys<T>(kv, width(), static_cast<std::size_t>(job.target), 1);
  merge(kv.v.as<T>(), job.value_weights, 1.0);
}

template <class T>
void CpuBackend<T>::cosines(const HeadKv& kv, std::span<const int> from, std::span<const int> to, std::span<double> out) {
  KVSCOPE_ASSERT(out.size() == from.size() * to.size());
  if (out.empty()) return;
  const Kernels<double>& wide = cpu::kernels<double>(kernels_.isa);
  const int d_head = config_.head_dim, rows = static_cast<int>(from.size());
  const auto key = [&](int slot) {
    KVSCOPE_ASSERT(slot >= 0 && slot < kv.n_slots);
    return kv.k.as<T>() + static_cast<std::size_t>(slot) * width();
  };
  const std::span<const double> norm = key_norms<T>(kv, width());
  const auto scratch = std::make_unique_for_overwrite<double[]>(from.size() * width());  // the rows [from] widened
  double* const x = scratch.get();
  for (std::size_t i = 0; i < from.size(); ++i) {
    wide.convert(key(from[i]), dtype(), d_head, x + i * width());
  }
  const int tiles = (rows + kDirectRows - 1) / kDirectRows;
  pool_.parallel_for(
      tiles, grain_for(static_cast<double>(kDirectRows) * static_cast<double>(to.size()) * d_head, 1), [&](int begin, int end) {
        for (int t = begin; t < end; ++t) {
          const int r = t * kDirectRows;
          double* const y = out.data() + static_cast<std::size_t>(r) * to.size();
          Dots<double> d;
          d.x = x + static_cast<std::size_t>(r) * width();
          d.rows = std::min(kDirectRows, rows - r);
          d.w_type = dtype();
          d.ldx = d.ldw = d.k = d_head;
          d.ldy = static_cast<long>(to.size());
          for (std::size_t j = 0; j < to.size(); j += static_cast<std::size_t>(d.cols)) {  // slots that are neighbours in one go
            d.cols = 1;
            while (j + static_cast<std::size_t>(d.cols) < to.size() && to[j + static_cast<std::size_t>(d.cols)] == to[j] + d.cols) ++d.cols;
            d.w = key(to[j]);
            d.y = y + j;
            wide.dots(d);
          }
          for (int i = 0; i < d.rows; ++i) {
            for (std::size_t j = 0; j < to.size(); ++j) {
              const double norms =
                  norm[static_cast<std::size_t>(from[static_cast<std::size_t>(r + i)])] * norm[static_cast<std::size_t>(to[j])];
              double& cosine = y[static_cast<std::size_t>(i) * to.size() + j];
              cosine = norms > 0 ? cosine / norms : 0.0;
            }
          }
        }
      });
}

template <class T>
void CpuBackend<T>::nearest(std::span<const NearestJob> jobs) {
  thread_local std::vector<int> others;
  for (const NearestJob& job : jobs) {
    NearestJob among = job;
    if (job.to.empty()) {
      slots_without(job.from, job.kv->n_slots, others);
      among.to = others;
    }
    nearest_of(among);
    const auto slot_of = [&](int place) { return among.to[static_cast<std::size_t>(place)]; };
    if (job.to.empty()) std::ranges::transform(job.places, job.places.begin(), slot_of);
  }
}

template <class T>
void CpuBackend<T>::key_rows(std::span<const KeyRowsJob> jobs) {
  for (const KeyRowsJob& job : jobs) {
    KVSCOPE_ASSERT(job.out.size() == job.slots.size() * width());
    for (std::size_t i = 0; i < job.slots.size(); ++i) {
      KVSCOPE_ASSERT(job.slots[i] >= 0 && job.slots[i] < job.kv->n_slots);
      to_double(job.out.subspan(i * width(), width()), job.kv->k.template as<T>() + static_cast<std::size_t>(job.slots[i]) * width());
    }
  }
}

template <class T>
void CpuBackend<T>::nearest_of(const NearestJob& job) {
  const HeadKv& kv = *job.kv;
  const std::span<const int> from = job.from, to = job.to;
  const std::span<int> places = job.places;
  const std::span<double> cosines = job.cosines;
  KVSCOPE_ASSERT(places.size() == from.size() && cosines.size() == from.size() && !to.empty());
  if (from.empty()) return;
  const Kernels<double>& wide = cpu::kernels<double>(kernels_.isa);
  const int d = config_.head_dim, rows = static_cast<int>(from.size()), cols = static_cast<int>(to.size()), lanes = wide.lanes;
  const auto key = [&](int slot) {
    KVSCOPE_ASSERT(slot >= 0 && slot < kv.n_slots);
    return kv.k.as<T>() + static_cast<std::size_t>(slot) * width();
  };
  const std::span<const double> key_norm = key_norms<T>(kv, width());
  // the rows [from] widened, the norms [to] and what is divided by them; kept by its thread: in a step an allocation would cost as much
  // as the work
  thread_local std::vector<double> memory;
  memory.resize(from.size() * width() + 2 * to.size());
  double *const x = memory.data(), *const norm = x + from.size() * width(), *const inverse = norm + to.size();
  for (std::size_t i = 0; i < from.size(); ++i) {
    wide.convert(key(from[i]), dtype(), d, x + i * width());
  }
  const auto norm_of = [&](int slot) { return job.by_product ? 1.0 : key_norm[static_cast<std::size_t>(slot)]; };
  for (std::size_t j = 0; j < to.size(); ++j) norm[j] = norm_of(to[j]);
  for (std::size_t j = 0; j < to.size(); ++j) inverse[j] = norm[j] > 0 ? 1 / norm[j] : 0.0;
  const int blocks = wide.packs(d) && rows >= kPackingPays ? (cols + lanes - 1) / lanes : 0;  // 0: the rows [to] are read where they are
  std::vector<double> packed(static_cast<std::size_t>(blocks * lanes) * width()), widened(blocks > 0 ? width() : 0);
  for (int j = 0; j < cols && blocks > 0; ++j) {
    wide.convert(key(to[static_cast<std::size_t>(j)]), dtype(), d, widened.data());
    double* column = packed.data() + static_cast<std::size_t>(j / lanes) * static_cast<std::size_t>(lanes * d) + j % lanes;
    for (int i = 0; i < d; ++i) column[i * lanes] = widened[static_cast<std::size_t>(i)];
  }
  const int tiles = (rows + kDirectRows - 1) / kDirectRows;
  const long ldy = std::max(cols, blocks * lanes);
  pool_.parallel_for_worker(tiles, grain_for(static_cast<double>(kDirectRows) * cols * d, 1), [&](int begin, int end, int worker) {
    double* const y = scratch_[static_cast<std::size_t>(worker)].template of<double>(static_cast<std::size_t>(ldy * kDirectRows));
    for (int t = begin; t < end; ++t) {
      const int r = t * kDirectRows, here = std::min(kDirectRows, rows - r);
      const double* const row = x + static_cast<std::size_t>(r) * width();
      if (blocks > 0) {
        wide.dots_packed(row, d, here, packed.data(), blocks, d, y, ldy);
      } else {
        Dots<double> dots;
        dots.x = row;
        dots.rows = here;
        dots.w_type = dtype();
        dots.ldx = dots.ldw = dots.k = d;
        dots.ldy = ldy;
        for (int j = 0; j < cols; j += dots.cols) {  // slots that are neighbours in one go
          const int first = to[static_cast<std::size_t>(j)];
          dots.cols = 1;
          while (j + dots.cols < cols && to[static_cast<std::size_t>(j + dots.cols)] == first + dots.cols) ++dots.cols;
          dots.w = key(first);
          dots.y = y + j;
          wide.dots(dots);
        }
      }
      for (int i = 0; i < here; ++i) {
        // the cosine itself is a division: only of those that come close to the largest
        const double* const dot = y + i * ldy;
        const double top = wide.largest_product(dot, inverse, cols), bound = top - std::abs(top) * 1e-12;
        int best = 0;
        double most = -std::numeric_limits<double>::infinity();
        for (int j = 0; (j = wide.next_product(dot, inverse, j, cols, bound)) < cols; ++j) {
          const double norms = norm_of(from[static_cast<std::size_t>(r + i)]) * norm[j], cosine = norms > 0 ? dot[j] / norms : 0.0;
          if (cosine > most) {
            best = j;
            most = cosine;
          }
        }
        places[static_cast<std::size_t>(r + i)] = best;
        cosines[static_cast<std::size_t>(r + i)] = std::isfinite(most) ? most : kNotAvailable;
      }
    }
  });
}

template <class T>
void CpuBackend<T>::keys(const HeadKv& kv, std::span<double> out) {
  KVSCOPE_ASSERT(out.size() == static_cast<std::size_t>(kv.n_slots) * width());
  to_double(out, kv.k.data());
}

#define KVSCOPE_SLOTS(T)                                                                                              \
  template HeadKv CpuBackend<T>::make_kv(int);                                                                        \
  template HeadKv CpuBackend<T>::copy_kv(const HeadKv&, int);                                                         \
  template void CpuBackend<T>::append_kv(HeadKv&, const void*, const void*, int);                                     \
  template void CpuBackend<T>::append_rows(std::span<HeadKv* const>, const void*, const void*);                       \
  template void CpuBackend<T>::remove_slots(std::span<const RemovalJob>);                                             \
  template void CpuBackend<T>::combine(std::span<const CombineJob>);                                                  \
  template void CpuBackend<T>::cosines(const HeadKv&, std::span<const int>, std::span<const int>, std::span<double>); \
  template void CpuBackend<T>::nearest(std::span<const NearestJob>);                                                  \
  template void CpuBackend<T>::key_rows(std::span<const KeyRowsJob>);                                                 \
  template void CpuBackend<T>::keys(const HeadKv&, std::span<double>)
KVSCOPE_SLOTS(float);
KVSCOPE_SLOTS(double);
#undef KVSCOPE_SLOTS

}  // namespace kvscope::cpu
