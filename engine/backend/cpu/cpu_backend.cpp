// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/cpu_backend.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "backend/synthetic.h"
#include "core/error.h"
#include "core/vector_math.h"

namespace kvscope::cpu {

namespace {

// Tile of linear() for many rows: the rows of x stay in the L2 cache while the columns pass.
constexpr int kLinearRows = 96, kLinearCols = 48;
constexpr int kWholeRows = 32;  // of rows as whole numbers, which are longer

int up(int a, int b) { return (a + b - 1) / b; }

/// Part of a weight matrix as dots() takes it.
struct Piece {
  const char* w = nullptr;
  DType type = DType::f32;
  long ldw = 0;
};

/// Columns [first, first + n) of `rows` rows from `row` on. Blocks, in which they may begin anywhere, are decoded into `decoded`.
template <class T>
Piece piece_of(const Kernels<T>& kernels, const Weight& w, int row, int rows, long first, long n, std::vector<T>& decoded) {
  const auto place = [&](int r, long column) {
    return static_cast<const char*>(w.data) + bytes_of(w.dtype, static_cast<std::size_t>(static_cast<long>(r) * w.in + column));
  };
  if (!is_quantised(w.dtype)) return {place(row, first), w.dtype, w.in};
  const long block = static_cast<long>(block_of(w.dtype).numbers), begin = first / block * block;
  const long width = (first + n + block - 1) / block * block - begin;
  decoded.resize(static_cast<std::size_t>(rows * width));
  for (int r = 0; r < rows; ++r) kernels.convert(place(row + r, begin), w.dtype, static_cast<int>(width), decoded.data() + r * width);
  return {reinterpret_cast<const char*>(decoded.data() + (first - begin)), sizeof(T) == 4 ? DType::f32 : DType::f64, width};
}

/// Calls task(first row, rows, first column, columns, worker) for tiles of y [rows, out], each of `work` per number of y.
template <class Task>
void in_tiles(ThreadPool& pool, int rows, int out, int most_rows, double work, const Task& task) {
  const int tile_rows = rows <= kDirectRows ? rows : most_rows;
  const int row_tiles = up(rows, tile_rows);
  // Few rows: the weights are read once, as they come; chunks of whole tiles of eight columns.
  const int tile_cols = rows <= kDirectRows ? 8 : kLinearCols;
  const int col_tiles = up(out, tile_cols);
  const int grain = grain_for(static_cast<double>(std::min(tile_rows, rows)) * tile_cols * work, 1);
  if (row_tiles == 1) {
    pool.parallel_for_worker(col_tiles, grain, [&](int begin, int end, int worker) {
      task(0, rows, begin * tile_cols, std::min(end * tile_cols, out) - begin * tile_cols, worker);
    });
  } else {  // neighbours share their columns of w
    pool.parallel_for_worker(col_tiles * row_tiles, grain, [&](int begin, int end, int worker) {
      for (int i = begin; i < end; ++i) {
        const int c = i / row_tiles * tile_cols, r = i % row_tiles * tile_rows;
        task(r, std::min(tile_rows, rows - r), c, std::min(tile_cols, out - c), worker);
      }
    });
  }
}

}  // namespace

int grain_for(double work_per_item, int tile) {
  const double items = std::max(1.0, std::ceil(kMinimumWork / std::max(1.0, work_per_item)));
  return up(static_cast<int>(std::min(items, 1e6)), tile) * tile;
}

template <class T>
CpuBackend<T>::CpuBackend(const ModelConfig& config, const CpuOptions& options, Isa isa)
    : config_(config), kernels_(kernels<T>(isa)), pool_(options.n_threads), scratch_(static_cast<std::size_t>(pool_.n_threads())) {
  for (std::size_t i = 0; i < config.ropes.size(); ++i) ropes_.emplace_back(config, static_cast<int>(i));
}

template <class T>
std::string CpuBackend<T>::name() const {
  return fmt::format("cpu, {}, {} thread{}", kernels_.name, pool_.n_threads(), pool_.n_threads() == 1 ? "" : "s");
}

template <class T>
void CpuBackend<T>::upload(void* to, const void* from_host, std::size_t bytes) {
  if (bytes != 0) std::memcpy(to, from_host, bytes);
}

template <class T>
void CpuBackend<T>::download(void* to_host, const void* from, std::size_t bytes) {
  if (bytes != 0) std::memcpy(to_host, from, bytes);
}

template <class T>
void CpuBackend<T>::copy(void* to, const void* from, std::size_t bytes) {
  if (bytes != 0) std::memcpy(to, from, bytes);
}

template <class T>
Weight CpuBackend<T>::weight(DType type, int out, int in, const void* host) {
  KVSCOPE_ASSERT(out >= 0 && in >= 0);
  Weight w{type, out, in, host, {}};
  // A file may place its tensors anywhere; blocks are read byte by byte.
  if (!is_quantised(type) && reinterpret_cast<std::uintptr_t>(host) % size_of(type) != 0) {
    const std::size_t bytes = static_cast<std::size_t>(out) * static_cast<std::size_t>(in) * size_of(type);
    w.storage = allocate(bytes);
    std::memcpy(w.storage.data(), host, bytes);
    w.data = w.storage.data();
  }
  return w;
}

template <class T>
Weight CpuBackend<T>::synthetic_weight(DType type, int out, int in, std::uint64_t seed) {
  KVSCOPE_ASSERT(out >= 0 && in >= 0 && type != DType::f64);
  if (is_quantised(type)) return synthetic_blocks(type, out, in, seed);
  const std::size_t width = static_cast<std::size_t>(in), size = size_of(type);
  Weight w{type, out, in, nullptr, allocate(static_cast<std::size_t>(out) * width * size)};
  w.data = w.storage.data();
  pool_.parallel_for(out, grain_for(4.0 * in, 1), [&](int begin, int end) {
    for (std::size_t i = static_cast<std::size_t>(begin) * width; i < static_cast<std::size_t>(end) * width; ++i) {
      const std::uint32_t bits = std::bit_cast<std::uint32_t>(static_cast<float>(synthetic_number(seed, i)) * kSyntheticUnit);
      // exact in 16 bits too: nothing to round
      const std::uint32_t half = bits << 1 == 0 ? 0 : ((bits >> 16) & 0x8000u) | (((bits & 0x7fffffffu) - 0x38000000u) >> 13);
      const std::uint32_t number = type == DType::f32 ? bits : type == DType::bf16 ? bits >> 16 : half;
      std::memcpy(w.storage.as<char>() + i * size, &number, size);  // little-endian, as everywhere
    }
  });
  return w;
}

template <class T>
Weight CpuBackend<T>::synthetic_blocks(DType type, int out, int in, std::uint64_t seed) {
  KVSCOPE_ASSERT(has_synthetic_blocks(type));
  const Block block = block_of(type);
  const std::size_t per_row = static_cast<std::size_t>(in) / block.numbers;
  Weight w{type, out, in, nullptr, allocate(static_cast<std::size_t>(out) * per_row * block.bytes)};
  w.data = w.storage.data();
  pool_.parallel_for(out, grain_for(4.0 * in, 1), [&](int begin, int end) {
    for (std::size_t i = static_cast<std::size_t>(begin) * per_row; i < static_cast<std::size_t>(end) * per_row; ++i)
      synthetic_block(type, seed, i, w.storage.as<unsigned char>() + i * block.bytes);
  });
  return w;
}

template <class T>
void CpuBackend<T>::from_double(void* to, std::span<const double> host) {
  T* y = static_cast<T*>(to);
  for (std::size_t i = 0; i < host.size(); ++i) y[i] = static_cast<T>(host[i]);
}

template <class T>
void CpuBackend<T>::to_double(std::span<double> host, const void* from) {
  if constexpr (std::is_same_v<T, float>)
    widen(static_cast<const T*>(from), host);
  else
    std::copy_n(static_cast<const T*>(from), host.size(), host.begin());
}

template <class T>
void CpuBackend<T>::embed(const Weight& table, std::span<const int> ids, void* x) {
  const std::size_t in = static_cast<std::size_t>(table.in);
  for (std::size_t r = 0; r < ids.size(); ++r) {
    KVSCOPE_ASSERT(ids[r] >= 0 && ids[r] < table.out);
    const char* row = static_cast<const char*>(table.data) + bytes_of(table.dtype, static_cast<std::size_t>(ids[r]) * in);
    kernels_.convert(row, table.dtype, table.in, static_cast<T*>(x) + r * in);
  }
}

template <class T>
void CpuBackend<T>::rms_norm(const void* x, const Weight& weight, double eps, int rows, void* y) {
  const int n = weight.in;
  pool_.parallel_for(rows, grain_for(4.0 * n, 1), [&](int begin, int end) {
    for (int r = begin; r < end; ++r) {
      const T* row = static_cast<const T*>(x) + static_cast<std::size_t>(r) * static_cast<std::size_t>(n);
      const double scale = 1.0 / std::sqrt(kernels_.sum_of_squares(row, n) / n + eps);
      kernels_.scale_by_weight(row, scale, weight.data, weight.dtype, n,
                               static_cast<T*>(y) + static_cast<std::size_t>(r) * static_cast<std::size_t>(n));
    }
  });
}

template <class T>
void CpuBackend<T>::row_norms(const void* x, int rows, int width, double* out, bool) {
  pool_.parallel_for(rows, grain_for(width, 1), [&](int begin, int end) {
    for (int r = begin; r < end; ++r) {
      const T* const row = static_cast<const T*>(x) + static_cast<std::size_t>(r) * static_cast<std::size_t>(width);
      double sum = 0;
      for (int i = 0; i < width; ++i) sum += static_cast<double>(row[i]) * static_cast<double>(row[i]);
      out[r] = std::sqrt(sum);
    }
  });
}

template <class T>
void CpuBackend<T>::linear(const void* x, const Weight& w, int rows, void* y, bool add) {
  if (rows <= 0 || w.out <= 0 || linear_in_whole_numbers(x, w, rows, y, add)) return;
  in_tiles(pool_, rows, w.out, kLinearRows, w.in, [&](int row, int n_rows, int col, int n_cols, int worker) {
    const long in = w.in, out = w.out;
    Dots<T> d;
    d.x = static_cast<const T*>(x) + row * in;
    d.ldx = in;
    d.rows = n_rows;
    d.w = static_cast<const char*>(w.data) + bytes_of(w.dtype, static_cast<std::size_t>(col * in));
    d.w_type = w.dtype;
    d.ldw = in;
    d.cols = n_cols;
    d.k = w.in;
    d.y = static_cast<T*>(y) + row * out + col;
    d.ldy = out;
    d.add = add;
    if (rows > kDirectRows || is_quantised(w.dtype)) d.scratch = scratch_[static_cast<std::size_t>(worker)].bytes(kDotsScratch);
    kernels_.dots(d);
  });
}

/// linear() of a type that kernels take in whole numbers; false: it is of another type.
template <class T>
bool CpuBackend<T>::linear_in_whole_numbers(const void* x, const Weight& w, int rows, void* y, bool add) {
  if (!kernels_.is_whole(w.dtype)) return false;
  if constexpr (std::is_same_v<T, float>) {
    thread_local Scratch memory;  // of the caller: several may be at work at the same time
    const std::size_t row_bytes = kernels_.whole_bytes(w.in);
    char* const whole = memory.of<char>(static_cast<std::size_t>(rows) * row_bytes);
    pool_.parallel_for(rows, grain_for(4.0 * w.in, 1), [&](int begin, int end) {
      for (int r = begin; r < end; ++r)
        kernels_.whole_row(static_cast<const float*>(x) + static_cast<long>(r) * w.in, w.in, w.dtype,
                           whole + static_cast<std::size_t>(r) * row_bytes);
    });
    in_tiles(pool_, rows, w.out, kWholeRows, w.in, [&](int row, int n_rows, int col, int n_cols, int worker) {
      WholeDots d;
      d.x = whole + static_cast<std::size_t>(row) * row_bytes;
      d.rows = n_rows;
      d.w = static_cast<const char*>(w.data) + bytes_of(w.dtype, static_cast<std::size_t>(col) * static_cast<std::size_t>(w.in));
      d.w_type = w.dtype;
      d.cols = n_cols;
      d.k = w.in;
      d.y = static_cast<float*>(y) + static_cast<long>(row) * w.out + col;
      d.ldy = w.out;
      d.add = add;
      d.scratch = scratch_[static_cast<std::size_t>(worker)].bytes(kernels_.whole_scratch(w.in));
      kernels_.whole_dots(d);
    });
  }
  return true;
}

template <class T>
void CpuBackend<T>::silu_mul(const void* gate, const void* up_rows, int rows, int width, void* y) {
  pool_.parallel_for(rows, grain_for(8.0 * width, 1), [&](int begin, int end) {
    const std::size_t at = static_cast<std::size_t>(begin) * static_cast<std::size_t>(width);
    for (int r = begin; r < end; ++r) {
      const std::size_t i = at + static_cast<std::size_t>(r - begin) * static_cast<std::size_t>(width);
      kernels_.silu_mul(static_cast<const T*>(gate) + i, static_cast<const T*>(up_rows) + i, width, static_cast<T*>(y) + i);
    }
  });
}

template <class T>
void CpuBackend<T>::gelu_mul(const void* gate, const void* up_rows, int rows, int width, void* y) {
  pool_.parallel_for(rows, grain_for(8.0 * width, 1), [&](int begin, int end) {
    for (int r = begin; r < end; ++r) {
      const std::size_t i = static_cast<std::size_t>(r) * static_cast<std::size_t>(width);
      kernels_.gelu_mul(static_cast<const T*>(gate) + i, static_cast<const T*>(up_rows) + i, width, static_cast<T*>(y) + i);
    }
  });
}

template <class T>
void CpuBackend<T>::add_to_rows(void* x, const Weight& row, int rows) {
  std::vector<T> numbers(static_cast<std::size_t>(row.in));
  kernels_.convert(row.data, row.dtype, row.in, numbers.data());
  pool_.parallel_for(rows, grain_for(row.in, 1), [&](int begin, int end) {
    for (int r = begin; r < end; ++r) {
      T* to = static_cast<T*>(x) + static_cast<std::size_t>(r) * numbers.size();
      for (std::size_t i = 0; i < numbers.size(); ++i) to[i] += numbers[i];
    }
  });
}

template <class T>
void CpuBackend<T>::scale(void* x, int rows, int width, int first, double factor) {
  T* row = static_cast<T*>(x);
  for (int r = 0; r < rows; ++r, row += width)
    for (int i = 0; i < first; ++i) row[i] = static_cast<T>(row[i] * factor);
}

template <class T>
void CpuBackend<T>::add_scaled(void* y, const void* x, std::size_t n, double factor) {
  T* const to = static_cast<T*>(y);
  const T *const from = static_cast<const T*>(x), by = static_cast<T>(factor);
  for (std::size_t i = 0; i < n; ++i) to[i] += from[i] * by;
}

template <class T>
void CpuBackend<T>::rope(void* x, int rows, int n_heads, std::span<const int> positions, int table_of_model) {
  KVSCOPE_ASSERT(positions.size() == static_cast<std::size_t>(rows));
  RopeTable<T>& table = ropes_[static_cast<std::size_t>(table_of_model)];
  int most = 0;
  for (int p : positions) most = std::max(most, std::abs(p));
  const std::shared_ptr<const RopeRows<T>> rotations = table.rows(most + 1);
  const int half = table.half();
  pool_.parallel_for(rows, grain_for(4.0 * n_heads * half, 1), [&](int begin, int end) {
    std::vector<T> back(static_cast<std::size_t>(half));
    for (int r = begin; r < end; ++r) {
      const int p = positions[static_cast<std::size_t>(r)];
      const T* sines = rotations->sines(std::abs(p));
      if (p < 0) {
        std::transform(sines, sines + half, back.begin(), [](T s) { return -s; });
        sines = back.data();
      }
      T* row = static_cast<T*>(x) + static_cast<std::size_t>(r) * static_cast<std::size_t>(n_heads) * width();
      for (int h = 0; h < n_heads; ++h, row += width()) kernels_.rotate(row, half, rotations->cosines(std::abs(p)), sines, row);
    }
  });
}

template <class T>
void CpuBackend<T>::wo_l1(std::span<const WoNormJob> jobs) {
  for (const WoNormJob& job : jobs) wo_l1_of(job.x, *job.wo, job.rows, job.out);
}

/// Rows of wo in pieces, each piece for all heads: so wo comes from memory in its order, and the next piece while one is in work.
template <class T>
void CpuBackend<T>::wo_l1_of(const void* x, const Weight& wo, int rows, std::span<double> out) {
  const int heads = config_.n_heads;
  KVSCOPE_ASSERT(wo.in == config_.q_dim() && out.size() == static_cast<std::size_t>(rows) * static_cast<std::size_t>(heads));
  constexpr int kRows = kDirectRows, kCols = 32, kLine = 64;
  pool_.parallel_for(up(rows, kRows) * heads, grain_for(static_cast<double>(kRows) * wo.out * config_.head_dim, 1),
                     [&](int begin, int end) {
                       Dots<T> d;
                       T y[kRows * kCols];
                       std::vector<T> decoded;
                       d.ldx = wo.in;
                       d.k = config_.head_dim;
                       d.y = y;
                       d.ldy = kCols;
                       for (int i = begin, n_heads = 0; i < end; i += n_heads) {
                         const int first_head = i % heads, r = i / heads * kRows;
                         n_heads = std::min(end - i, heads - first_head);
                         d.rows = std::min(kRows, rows - r);
                         double* const sums = out.data() + static_cast<std::size_t>(r) * static_cast<std::size_t>(heads) + first_head;
                         for (int m = 0; m < d.rows; ++m) std::fill_n(sums + m * heads, n_heads, 0.0);
                         for (int c = 0; c < wo.out; c += kCols) {
                           d.cols = std::min(kCols, wo.out - c);
                           const Piece piece = piece_of(kernels_, wo, c, d.cols, first_head * d.k, n_heads * d.k, decoded);
                           const std::size_t element = size_of(piece.type);
                           d.w_type = piece.type;
                           d.ldw = piece.ldw;
                           for (int j = 0; j < (decoded.empty() ? std::min(kCols, wo.out - c - kCols) : 0); ++j) {
                             const char* const row = piece.w + static_cast<std::size_t>((kCols + j) * piece.ldw) * element;
                             for (std::size_t byte = 0; byte < static_cast<std::size_t>(n_heads * d.k) * element; byte += kLine)
                               __builtin_prefetch(row + byte);
                           }
                           for (int h = 0; h < n_heads; ++h) {
                             d.x = static_cast<const T*>(x) + static_cast<long>(r) * d.ldx + static_cast<long>(first_head + h) * d.k;
                             d.w = piece.w + static_cast<std::size_t>(h * d.k) * element;
                             kernels_.dots(d);
                             for (int m = 0; m < d.rows; ++m) sums[m * heads + h] += kernels_.sum_of_sizes(y + m * kCols, d.cols);
                           }
                         }
                       }
                     });
}

template <class T>
void CpuBackend<T>::wo_rows(const void* x, int stride, const Weight& wo, int head, int rows, std::span<double> out) {
  KVSCOPE_ASSERT(wo.in == config_.q_dim() && out.size() == static_cast<std::size_t>(rows) * static_cast<std::size_t>(wo.out));
  constexpr int kRows = kDirectRows, kCols = 64;
  pool_.parallel_for(up(rows, kRows), grain_for(static_cast<double>(kRows) * wo.out * config_.head_dim, 1), [&](int begin, int end) {
    for (int r = begin * kRows; r < std::min(rows, end * kRows); r += kRows) {
      Dots<T> d;
      T y[kRows * kCols];
      std::vector<T> decoded;
      d.ldx = stride;
      d.rows = std::min(kRows, rows - r);
      d.x = static_cast<const T*>(x) + static_cast<long>(r) * stride;
      d.k = config_.head_dim;
      d.y = y;
      d.ldy = kCols;
      for (int c = 0; c < wo.out; c += kCols) {
        d.cols = std::min(kCols, wo.out - c);
        const Piece piece = piece_of(kernels_, wo, c, d.cols, static_cast<long>(head) * config_.head_dim, config_.head_dim, decoded);
        d.w = piece.w;
        d.w_type = piece.type;
        d.ldw = piece.ldw;
        kernels_.dots(d);
        for (int m = 0; m < d.rows; ++m) std::copy_n(y + m * kCols, d.cols, out.data() + static_cast<std::ptrdiff_t>(r + m) * wo.out + c);
      }
    }
  });
}

template class CpuBackend<float>;
template class CpuBackend<double>;

std::unique_ptr<Backend> make_cpu_backend_for(DType dtype, const ModelConfig& config, const CpuOptions& options, Isa isa) {
  if (config.n_heads <= 0 || config.n_kv_heads <= 0 || config.n_heads % config.n_kv_heads != 0 || config.head_dim <= 0 ||
      config.head_dim % 2 != 0) {
    throw Error(
        fmt::format("cpu backend: expected heads that n_kv_heads divides and an even head_dim, got {} heads, {} KV heads, head_dim {}",
                    config.n_heads, config.n_kv_heads, config.head_dim));
  }
  if (options.n_threads < 0 || options.n_threads > 1024) {
    throw Error(fmt::format("cpu backend: expected 0 (one per core) to 1024 threads, got {}", options.n_threads));
  }
  if (dtype == DType::f32) return std::make_unique<CpuBackend<float>>(config, options, isa);
  if (dtype == DType::f64) return std::make_unique<CpuBackend<double>>(config, options, isa);
  throw Error(fmt::format("cpu backend: expected activations in f32 or f64, got {}", name_of(dtype)));
}

}  // namespace kvscope::cpu

namespace kvscope {

std::unique_ptr<Backend> make_cpu_backend(DType dtype, const ModelConfig& config, const CpuOptions& options) {
  return cpu::make_cpu_backend_for(dtype, config, options, cpu::best_isa());
}

}  // namespace kvscope
