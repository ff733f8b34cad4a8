// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "backend/cpu/cpu_backend.h"
#include "core/error.h"

// Sums over the rows of a prompt attention. Every tile of rows leaves one row of sums per statistic while its probabilities are in the
// cache; then the tiles are added up in order. So the number of threads does not matter, and two calls that share a bound between their
// rows give the bits of the sums that were made so before.

namespace kvscope::cpu {

namespace {

/// Where the sums of the tiles of one attend_prompt call are.
struct TileSums {
  int tile_rows = 0, tiles = 0;
  long row = 0;          // numbers of one statistic of one tile
  int n_statistics = 0;  // rows of a tile: of every entry of job.columns its sum, sum_sq, decayed sums and hits, as far as wanted
  double* base = nullptr;

  TileSums(const PromptAttentionJob& job, int group) {
    tile_rows = prompt_tile_rows(true, group);
    tiles = (job.rows + tile_rows - 1) / tile_rows;
    row = (job.first + job.rows + kColumnStep - 1) / kColumnStep * kColumnStep;
    for (const ColumnSums& c : job.columns) n_statistics += n_of(c);
  }
  static int n_of(const ColumnSums& c) {
    return (c.sum != nullptr) + (c.sum_sq != nullptr) + static_cast<int>(c.decayed.size()) + (c.hit_rows > 0);
  }
  /// Statistics of one tile, then its sums outside.
  std::size_t tile_size(const PromptAttentionJob& job) const {
    return static_cast<std::size_t>(row) * static_cast<std::size_t>(n_statistics) + job.outside.size();
  }
  double* of(const PromptAttentionJob& job, int kv_head, int tile) const {
    return base + tile_size(job) * (static_cast<std::size_t>(kv_head) * static_cast<std::size_t>(tiles) + static_cast<std::size_t>(tile));
  }
};

/// Adds the hits of one tile, 2^row per column, to the bits of the rows from first_hit on.
void add_hits(const double* tile, int first_row, int first_hit, int begin, int end, std::uint64_t* words, std::size_t stride) {
  const int at = first_row - first_hit;  // bit of the tile's first row; negative: its first rows are before all bits and have no hits
  const int word = std::max(at, 0) / 64, shift = std::max(at, 0) % 64;
  for (int j = begin; j < end; ++j) {
    const std::uint64_t rows = static_cast<std::uint64_t>(tile[j]) >> std::max(-at, 0);
    if (rows == 0) continue;
    std::uint64_t* to = words + static_cast<std::size_t>(word) * stride + j;
    to[0] |= rows << shift;
    if (shift > 64 - kColumnRows && rows >> (64 - shift) != 0) to[stride] |= rows >> (64 - shift);
  }
}

}  // namespace

template <class T>
void CpuBackend<T>::prepare_column_sums(const PromptAttentionJob& job) {
  const TileSums sums(job, config_.group());
  for (const ColumnSums& c : job.columns) {
    KVSCOPE_ASSERT(c.stride >= static_cast<std::size_t>(job.first + job.rows) && c.hit_rows <= job.rows && (c.hit_rows <= 0 || c.hits));
  }
  tile_sums_.of<double>(sums.tile_size(job) * static_cast<std::size_t>(sums.tiles) * static_cast<std::size_t>(config_.n_kv_heads));
}

/// z [group, rows, ldz], sums [group, rows] as attend_rows() leaves them.
template <class T>
void CpuBackend<T>::sum_columns_of_tile(const PromptAttentionJob& job, int kv_head, int tile, int rows, const T* z, long ldz,
                                        const T* sums) {
  TileSums place(job, config_.group());
  place.base = tile_sums_.of<double>(0);
  double* to = place.of(job, kv_head, tile);
  const int group = config_.group(), first_row = tile * place.tile_rows;
  std::vector<double> factors(static_cast<std::size_t>(group * rows));
  for (std::size_t i = 0; i < factors.size(); ++i) factors[i] = 1.0 / static_cast<double>(sums[i]);
  double thresholds[kColumnRows];
  std::vector<double> lambdas;
  for (const ColumnSums& c : job.columns) {
    ColumnTile<T> t;
    t.x = z;
    t.ldx = ldz;
    t.group = group;
    t.rows = rows;
    t.n = static_cast<int>(ldz);
    t.factors = factors.data();
    t.share = c.reduce == GroupReduce::mean ? 1.0 / group : 1.0;
    t.largest = c.reduce == GroupReduce::max;
    const auto next = [&] { return std::exchange(to, to + place.row); };
    if (c.sum) t.sum = next();
    if (c.sum_sq) t.sum_sq = next();
    lambdas.clear();
    for (const ColumnSums::Decayed& d : c.decayed) lambdas.push_back(d.lambda);
    t.n_decayed = static_cast<int>(lambdas.size());
    t.lambdas = lambdas.data();
    t.decayed = to;
    t.ld_decayed = place.row;
    to += place.row * t.n_decayed;
    if (c.hit_rows > 0) {
      double* hits = next();
      const int first_hit = job.rows - c.hit_rows;
      for (int r = 0; r < rows; ++r) {
        const int row = first_row + r;
        thresholds[r] = row < first_hit ? std::numeric_limits<double>::infinity() : 1.0 / (job.first + row + 1 - job.first_slot(row));
      }
      t.thresholds = thresholds;
      if (first_row + rows > first_hit) t.hits = hits;
    }
    kernels_.column_sums(t);
  }
  for (const OutsideSum& o : job.outside) {
    double sum = 0;
    for (int i = 0; i < group * rows; ++i) {
      const int seen = job.first + first_row + i % rows + 1, begin = std::min(o.sinks, seen), end = std::max(begin, seen - o.recent);
      sum += kernels_.sum(z + i * ldz + begin, end - begin) * factors[static_cast<std::size_t>(i)];
    }
    *to++ = sum;
  }
}

template <class T>
void CpuBackend<T>::sum_columns(const PromptAttentionJob& job) {
  TileSums place(job, config_.group());
  place.base = tile_sums_.of<double>(0);
  constexpr int kColumns = 512;  // of one piece of work
  const int all = job.first + job.rows, pieces = (all + kColumns - 1) / kColumns;
  const double work = static_cast<double>(kColumns) * place.tiles * place.n_statistics;
  pool_.parallel_for(config_.n_kv_heads * pieces, grain_for(work, 1), [&](int from, int to) {
    for (int i = from; i < to; ++i) {
      const int h = i / pieces, begin = i % pieces * kColumns, end = std::min(begin + kColumns, all);
      std::size_t statistic = 0;
      // body(sums of the tile, its first row, its rows, the columns that it has)
      const auto over_tiles = [&](const auto& body) {
        for (int tile = 0; tile < place.tiles; ++tile) {
          const int first_row = tile * place.tile_rows, rows = std::min(place.tile_rows, job.rows - first_row);
          const double* sums = place.of(job, h, tile) + static_cast<std::size_t>(place.row) * statistic;
          body(sums, first_row, rows, std::min(end, job.first + first_row + rows));
        }
        ++statistic;
      };
      for (const ColumnSums& c : job.columns) {
        const std::size_t head = static_cast<std::size_t>(h) * c.stride;
        for (double* sum : {c.sum, c.sum_sq}) {
          if (!sum) continue;
          over_tiles([&](const double* tile, int, int, int seen) {
            for (int j = begin; j < seen; ++j) sum[head + static_cast<std::size_t>(j)] += tile[j];
          });
        }
        for (const ColumnSums::Decayed& d : c.decayed) {
          over_tiles([&](const double* tile, int, int rows, int seen) {
            double decay = 1;
            for (int r = 0; r < rows; ++r) decay *= d.lambda;
            for (int j = begin; j < seen; ++j) {
              double& sum = d.sum[head + static_cast<std::size_t>(j)];
              sum = decay * sum + tile[j];
            }
          });
        }
        if (c.hit_rows > 0) {
          const std::size_t words = static_cast<std::size_t>((c.hit_rows + 63) / 64);
          std::uint64_t* hits = c.hits + head * words;
          for (std::size_t w = 0; w < words; ++w) std::fill(hits + w * c.stride + begin, hits + w * c.stride + end, 0);
          const int first_hit = job.rows - c.hit_rows;
          over_tiles([&](const double* tile, int first_row, int rows, int seen) {
            if (first_row + rows > first_hit) add_hits(tile, first_row, first_hit, begin, seen, hits, c.stride);
          });
        }
      }
    }
  });
  for (std::size_t x = 0; x < job.outside.size(); ++x) {
    for (int h = 0; h < config_.n_kv_heads; ++h) {
      for (int tile = 0; tile < place.tiles; ++tile)
        job.outside[x].sum[h] +=
            place.of(job, h, tile)[static_cast<std::size_t>(place.row) * static_cast<std::size_t>(place.n_statistics) + x];
    }
  }
}

#define KVSCOPE_COLUMNS(T)                                                                                              \
  template void CpuBackend<T>::prepare_column_sums(const PromptAttentionJob&);                                          \
  template void CpuBackend<T>::sum_columns_of_tile(const PromptAttentionJob&, int, int, int, const T*, long, const T*); \
  template void CpuBackend<T>::sum_columns(const PromptAttentionJob&)
KVSCOPE_COLUMNS(float);
KVSCOPE_COLUMNS(double);
#undef KVSCOPE_COLUMNS

}  // namespace kvscope::cpu
