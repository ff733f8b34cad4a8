// SPDX-License-Identifier: Apache-2.0
#include "runtime/prompt/prompt_site.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/group_reduce.h"
#include "runtime/lane/key_norms.h"
#include "runtime/lane/value_l1.h"

namespace kvscope {

void PromptRun::Site::before_rotation(const LayerRows& rows) {
  if (!run_.needs_.key_norm) return;
  const int n_kv_heads = run_.config_.n_kv_heads;
  std::vector<double> norms(static_cast<std::size_t>(rows.rows) * n_kv_heads);
  key_norms(run_.backend_, rows.k, run_.config_.head_dim, norms);
  for (int h = 0; h < n_kv_heads; ++h) {
    std::vector<double>& out = run_.layers_[rows.layer].heads[h].key_norm;
    out.resize(first_);
    for (int r = 0; r < rows.rows; ++r) out.push_back(norms[static_cast<std::size_t>(r) * n_kv_heads + h]);
  }
}

void PromptRun::Site::attend(const LayerRows& rows) {
  const ModelConfig& c = run_.config_;
  Backend& b = run_.backend_;
  Layer& layer = run_.layers_[rows.layer];
  const std::size_t element = size_of(b.dtype());
  for (int r = 0; r < rows.rows; ++r) {
    const std::size_t offset = element * r * c.kv_dim();
    layer.history.append(static_cast<const std::byte*>(rows.k) + offset, static_cast<const std::byte*>(rows.v) + offset,
                         element * c.head_dim);
  }
  if (run_.needs_.value_norms) {
    layer.value_norms.resize(static_cast<std::size_t>(first_) * c.n_heads);
    const ValueRows values{.wo = &run_.model_.layers[rows.layer].wo, .v = rows.v, .rows = rows.rows, .out = &layer.value_norms};
    append_value_l1(b, c, {&values, 1});
  }
  std::vector<std::vector<KvSegment>> slots;
  for (int h = 0; h < c.n_kv_heads; ++h) slots.push_back(layer.history.segments(h));
  gather(rows, slots);
  keep_queries(layer, rows);
}

void PromptRun::Site::gather(const LayerRows& rows, std::span<const std::vector<KvSegment>> slots) {
  const ModelConfig& c = run_.config_;
  Backend& b = run_.backend_;
  Layer& layer = run_.layers_[rows.layer];
  const std::size_t element = size_of(b.dtype());
  const int n = first_ + rows.rows;

  // how many of the last rows of this chunk somebody looks at
  const int after = n_total_ - n;
  const bool last_chunk = after == 0;
  const auto of_chunk = [&](int last_rows) { return std::clamp(std::min(last_rows, n_total_) - after, 0, rows.rows); };
  int p_rows = last_chunk ? 1 : 0;
  for (const auto& columns : run_.needs_.columns) p_rows = std::max(p_rows, of_chunk(columns.rows));
  const int z_rows = of_chunk(run_.needs_.z_rows);
  const std::size_t row = static_cast<std::size_t>(c.n_heads) * n;
  for (const auto& [count, buffer] : {std::pair{p_rows, &run_.probabilities_}, std::pair{z_rows, &run_.z_}}) {
    if (buffer->bytes() < count * row * element) *buffer = b.allocate(count * row * element);
  }
  std::vector<ColumnSums> columns;
  std::array<std::vector<ColumnSums::Decayed>, 3> decayed;
  std::size_t n_hits = 0;
  for (std::size_t how = 0; how < layer.by_reduce.size(); ++how) {
    const PromptNeeds::Columns& want = run_.needs_.columns[how];
    Columns& out = layer.by_reduce[how];
    const int hit_rows = of_chunk(want.hits);
    if (want.sums.empty() && hit_rows == 0) continue;
    ColumnSums sums{.reduce = static_cast<GroupReduce>(how), .stride = static_cast<std::size_t>(n_total_), .hit_rows = hit_rows};
    for (std::size_t x = 0; x < want.sums.size(); ++x) {
      const auto& [power, decay] = want.sums[x];
      KVSCOPE_ASSERT(power == 1 || (power == 2 && decay == 1));
      if (decay != 1)
        decayed[how].push_back({decay, out.sums[x].data()});
      else
        (power == 2 ? sums.sum_sq : sums.sum) = out.sums[x].data();
    }
    sums.decayed = decayed[how];
    columns.push_back(sums);
    if (hit_rows > 0) n_hits += static_cast<std::size_t>(c.n_kv_heads) * n_total_;
  }
  run_.hits_.resize(std::max(run_.hits_.size(), n_hits));
  std::uint64_t* hits = run_.hits_.data();
  for (ColumnSums& sums : columns)
    if (sums.hit_rows > 0) sums.hits = std::exchange(hits, hits + static_cast<std::size_t>(c.n_kv_heads) * n_total_);
  std::vector<OutsideSum> outside;
  for (std::size_t x = 0; x < layer.outside.size(); ++x)
    outside.push_back({run_.needs_.outside[x].sinks, run_.needs_.outside[x].recent, layer.outside[x].data()});

  b.attend_prompt({.slots = slots,
                   .first = first_,
                   .rows = rows.rows,
                   .q = rows.q,
                   .out = rows.out,
                   .probability_rows = p_rows,
                   .probabilities = run_.probabilities_.data(),
                   .logit_rows = z_rows,
                   .logits = run_.z_.data(),
                   .columns = columns,
                   .outside = outside,
                   .layer = c.layer(rows.layer)});
  run_.host_.resize(std::max(run_.host_.size(), std::max(p_rows, z_rows) * row));
  keep_hits(layer, columns, n);
  if (p_rows > 0) {
    const std::span<double> p(run_.host_.data(), p_rows * row);
    b.to_double(p, run_.probabilities_.data());
    keep_rows(layer, p, p_rows, n);
    if (last_chunk) keep_last(layer, rows, p, p_rows, n);
  }
  if (z_rows > 0) {
    const std::span<double> z(run_.host_.data(), z_rows * row);
    b.to_double(z, run_.z_.data());
    keep_logits(layer, z, z_rows, n);
  }
}

void PromptRun::Site::keep_hits(Layer& layer, std::span<const ColumnSums> columns, int n) {
  for (const ColumnSums& sums : columns) {
    for (int h = 0; h < run_.config_.n_kv_heads && sums.hit_rows > 0; ++h) {
      std::uint64_t* rows = sums.hits + sums.stride * h;
      std::fill(rows + n, rows + n_total_, 0);
      layer.by_reduce[static_cast<std::size_t>(sums.reduce)].hits[h].push_rows({rows, sums.stride}, sums.hit_rows);
    }
  }
}

void PromptRun::Site::keep_rows(Layer& layer, std::span<const double> p, int rows, int n) {
  const ModelConfig& c = run_.config_;
  const std::size_t head_stride = static_cast<std::size_t>(rows) * n;
  for (std::size_t how = 0; how < layer.by_reduce.size(); ++how) {
    const int w = std::min(run_.needs_.columns[how].rows, n_total_);
    for (int h = 0; h < c.n_kv_heads; ++h) {
      for (int r = 0; r < rows; ++r) {
        const int position = n - rows + r;
        if (position < n_total_ - w) continue;
        std::vector<double>& out = layer.by_reduce[how].rows[h];
        out.resize(out.size() + n_total_);
        reduce_group(p.data() + head_stride * c.group() * h + static_cast<std::size_t>(r) * n, head_stride, c.group(),
                     static_cast<GroupReduce>(how), std::span(out).last(n_total_).first(position + 1));
      }
    }
  }
}

void PromptRun::Site::keep_logits(Layer& layer, std::span<const double> z, int rows, int n) {
  const ModelConfig& c = run_.config_;
  const int w = std::min(run_.needs_.z_rows, n_total_);
  for (int h = 0; h < c.n_kv_heads; ++h) {
    std::vector<double>& out = layer.heads[h].z;
    for (int r = 0; r < rows; ++r) {
      if (n - rows + r < n_total_ - w) continue;
      for (int g = c.group() * h; g < c.group() * (h + 1); ++g) {
        const double* from = z.data() + (static_cast<std::size_t>(g) * rows + r) * n;
        out.insert(out.end(), from, from + n);
        out.resize(out.size() + n_total_ - n, -std::numeric_limits<double>::infinity());
      }
    }
  }
}

void PromptRun::Site::keep_queries(Layer& layer, const LayerRows& rows) {
  const int from = n_total_ - std::min(run_.needs_.queries, n_total_);
  const std::size_t bytes = size_of(run_.backend_.dtype()) * run_.config_.q_dim();
  for (int r = std::max(0, from - first_); r < rows.rows; ++r) {
    run_.backend_.copy(static_cast<std::byte*>(layer.queries.data()) + bytes * (first_ + r - from),
                       static_cast<const std::byte*>(rows.q) + bytes * r, bytes);
  }
}

void PromptRun::Site::keep_last(Layer& layer, const LayerRows& rows, std::span<const double> p, int p_rows, int n) {
  const ModelConfig& c = run_.config_;
  Backend& b = run_.backend_;
  const std::size_t bytes = size_of(b.dtype()) * c.q_dim(), offset = bytes * (rows.rows - 1);
  b.copy(layer.last_q.data(), static_cast<const std::byte*>(rows.q) + offset, bytes);
  b.copy(layer.last_o.data(), static_cast<const std::byte*>(rows.out) + offset, bytes);
  layer.last_attention.resize(static_cast<std::size_t>(c.n_heads) * n);
  for (int g = 0; g < c.n_heads; ++g) {
    std::copy_n(p.data() + (static_cast<std::size_t>(g) * p_rows + p_rows - 1) * n, n,
                layer.last_attention.data() + static_cast<std::size_t>(g) * n);
  }
}

}  // namespace kvscope
