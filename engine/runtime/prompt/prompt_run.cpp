// SPDX-License-Identifier: Apache-2.0
#include "runtime/prompt/prompt_run.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/group_reduce.h"
#include "runtime/lane/hidden_scores.h"
#include "runtime/lane/key_norms.h"
#include "runtime/lane/value_l1.h"
#include "runtime/restart_points.h"

namespace kvscope {

/// Attention of one chunk: appends to the histories and gathers what the lanes asked for.
class PromptRun::Site final : public AttentionSite {
 public:
  Site(PromptRun& run, int first, int n_total) : run_(run), first_(first), n_total_(n_total) {}

  void before_rotation(const LayerRows& rows) override;
  void attend(const LayerRows& rows) override;

  /// slots [n_kv_heads]: the keys and values of first_ + rows.rows tokens.
  void gather(const LayerRows& rows, std::span<const std::vector<KvSegment>> slots);

 private:
  /// Words of the hits of one slot, in all heads.
  std::size_t words_of_hits(const ColumnSums& sums) const {
    return static_cast<std::size_t>(run_.config_.n_kv_heads) * static_cast<std::size_t>((sums.hit_rows + 63) / 64);
  }
  void keep_key_norms(const LayerRows& rows);
  void keep_learned(const LayerRows& rows);
  void keep_hits(Layer& layer, std::span<const ColumnSums> columns, int n);
  /// p [n_heads, rows, n]: abar of the last rows of the prompt
  void keep_rows(Layer& layer, std::span<const double> p, int rows, int n);
  /// z [n_heads, rows, n], -inf above the diagonal
  void keep_logits(Layer& layer, std::span<const double> z, int rows, int n);
  void keep_queries(Layer& layer, const LayerRows& rows);
  /// p [n_heads, p_rows, n]
  void keep_last(Layer& layer, const LayerRows& rows, std::span<const double> p, int p_rows, int n);

  PromptRun& run_;
  int first_, n_total_;
};

void PromptRun::Site::before_rotation(const LayerRows& rows) {
  if (run_.needs_.key_norm) keep_key_norms(rows);
  keep_learned(rows);
}

void PromptRun::Site::keep_learned(const LayerRows& rows) {
  for (std::size_t s = 0; s < run_.needs_.scorers.size(); ++s) {
    const std::vector<double> scores = hidden_scores(run_.backend_, *run_.needs_.scorers[s], rows.layer, rows.in, rows.rows);
    for (int h = 0; h < run_.config_.n_kv_heads; ++h) {
      std::vector<double>& out = run_.layers_[rows.layer].heads[h].learned[s];
      out.resize(first_);
      out.insert(out.end(), scores.begin() + h * rows.rows, scores.begin() + (h + 1) * rows.rows);
    }
  }
}

void PromptRun::Site::keep_key_norms(const LayerRows& rows) {
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
  layer.history.append(rows.k, rows.v, size_of(b.dtype()) * c.head_dim, rows.rows);
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
  if (first_ == 0) run_.clear(layer, n_total_);

  // how many of the last rows of this chunk somebody looks at
  const int after = n_total_ - n;
  const auto of_chunk = [&](int last_rows) { return std::clamp(std::min(last_rows, n_total_) - after, 0, rows.rows); };
  const bool keeps_last = after == 0 || run_.watched_;
  int p_rows = keeps_last ? 1 : 0;
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
    n_hits += words_of_hits(sums) * n_total_;
  }
  std::vector<std::uint64_t>& its_hits = run_.hits_[rows.layer % 2];
  its_hits.resize(std::max(its_hits.size(), n_hits));
  std::uint64_t* hits = its_hits.data();
  for (ColumnSums& sums : columns)
    if (sums.hit_rows > 0) sums.hits = std::exchange(hits, hits + words_of_hits(sums) * n_total_);
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
                   .layer = c.layer(rows.layer),
                   .sums_done = [this, &layer, columns, n] {
                     keep_hits(layer, columns, n);
                     run_.save_sums(layer, n);
                   }});
  run_.host_.resize(std::max(run_.host_.size(), std::max(p_rows, z_rows) * row));
  if (p_rows > 0) {
    const std::span<double> p(run_.host_.data(), p_rows * row);
    b.to_double(p, run_.probabilities_.data());
    keep_rows(layer, p, p_rows, n);
    if (keeps_last) keep_last(layer, rows, p, p_rows, n);
  }
  if (z_rows > 0) {
    const std::span<double> z(run_.host_.data(), z_rows * row);
    b.to_double(z, run_.z_.data());
    keep_logits(layer, z, z_rows, n);
  }
}

void PromptRun::Site::keep_hits(Layer& layer, std::span<const ColumnSums> columns, int n) {
  for (const ColumnSums& sums : columns) {
    std::uint64_t* rows = sums.hits;
    for (int h = 0; h < run_.config_.n_kv_heads; ++h) {
      for (int done = 0; done < sums.hit_rows; done += 64, rows += sums.stride) {
        std::fill(rows + n, rows + n_total_, 0);
        layer.by_reduce[static_cast<std::size_t>(sums.reduce)].hits[h].push_rows({rows, sums.stride}, std::min(sums.hit_rows - done, 64));
      }
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

PromptRun::PromptRun(Backend& backend, const Model& model) : backend_(backend), model_(model), config_(model.config()) {
  for (int l = 0; l < config_.n_layers; ++l) {
    layers_.emplace_back(History(backend, config_.n_kv_heads));
    layers_.back().heads.resize(config_.n_kv_heads);
    const std::size_t bytes = size_of(backend.dtype()) * config_.q_dim();
    layers_.back().last_q = backend.allocate(bytes);
    layers_.back().last_o = backend.allocate(bytes);
  }
}

int PromptRun::update(std::span<const int> tokens, const PromptNeeds& needs, Forward& forward, const CancelToken& cancel,
                      const Forward::LayerDone& layer_done) {
  const int n_total = static_cast<int>(tokens.size());
  const bool same_tokens = std::equal(tokens.begin(), tokens.end(), tokens_.begin(), tokens_.end()) && done_ == n_total;
  forward.set_prompt_length(n_total);  // probes run with it, too, where nothing else does
  if (same_tokens && needs_.covers(needs)) return 0;

  int common = 0;
  while (common < std::min(n_total, done_) && tokens[common] == tokens_[common]) ++common;
  if (!config_.rotates_alike(size(), n_total)) common = 0;
  int restart = 0;
  // with all queries from the first token on, those of what stays are here
  const bool has_queries = needs.queries >= n_total && needs_.queries >= size();
  if (needs_.covers_sums(needs)) {
    // the last rows and the last query are not kept at chunk boundaries: go back far enough to see them all again
    int rows = 1;
    for (const auto& columns : needs.columns) rows = std::max(rows, columns.last_rows());
    rows = std::max({rows, needs.z_rows, has_queries ? 0 : needs.queries});
    const auto after = saved_.upper_bound(std::max(0, std::min(common, n_total - rows)));
    if (after != saved_.begin()) restart = std::prev(after)->first;
  }
  if (restart == 0) {  // sums gathered anew: drop what nobody asks for any more
    needs_ = needs;
  } else {
    needs_.take_last_rows(needs);
  }
  tokens_.assign(tokens.begin(), tokens.end());
  restart_at(restart, n_total, has_queries);

  const int chunk = backend_.prompt_rows();
  std::vector<int> positions;
  for (int first = restart; first < n_total; first += chunk) {
    const int rows = std::min(chunk, n_total - first);
    positions.resize(rows);
    for (int r = 0; r < rows; ++r) positions[r] = first + r;
    in_work_ = first + rows;
    Site site(*this, first, n_total);
    saving_.clear();
    saves_ = rows == chunk;
    try {
      forward.run(tokens.subspan(first, rows), positions, site, cancel, layer_done);
      backend_.finish_sums();
    } catch (...) {  // a chunk that stopped half-way leaves no trace
      backend_.finish_sums();
      restart_at(first, n_total, /*has_queries=*/needs.queries >= n_total);
      throw;
    }
    done_ = first + rows;
    if (saves_) {
      for (const Layer& layer : layers_)
        for (const std::vector<double>& x : layer.outside) saving_.insert(saving_.end(), x.begin(), x.end());
      saved_[done_] = std::exchange(saving_, {});
      thin_restart_points(saved_, chunk);
    }
    if (done_ == n_total) {
      logits_.resize(config_.vocab_size);
      const std::span<double> last(logits_);
      forward.project(rows - 1, 1);
      forward.logits({&last, 1});
    }
  }
  return n_total - restart;
}

void PromptRun::restart_at(int n, int n_total, bool has_queries) {
  done_ = n;
  for (Layer& layer : layers_) {
    layer.history.truncate(std::min(n, layer.history.size()));
    for (Head& head : layer.heads) {
      head.key_norm.resize(std::min(head.key_norm.size(), static_cast<std::size_t>(needs_.key_norm ? n : 0)));
      head.learned.resize(needs_.scorers.size());
      for (std::vector<double>& learned : head.learned) learned.resize(std::min(learned.size(), static_cast<std::size_t>(n)));
    }
    const int n_queries = std::min(needs_.queries, n_total);
    const std::size_t row_bytes = size_of(backend_.dtype()) * config_.q_dim();
    const Buffer before = std::exchange(layer.queries, n_queries > 0 ? backend_.allocate(row_bytes * n_queries) : Buffer());
    if (has_queries && n > 0) backend_.copy(layer.queries.data(), before.data(), row_bytes * n);
    if (n > 0) clear(layer, n_total);  // else when the device has begun with the layer
  }
  saved_.erase(saved_.upper_bound(n), saved_.end());
  if (n > 0) load_sums(saved_.at(n), n, n_total);
}

void PromptRun::clear(Layer& layer, int n_total) {
  const std::size_t all = static_cast<std::size_t>(config_.n_kv_heads) * n_total;
  for (std::size_t i = 0; i < layer.by_reduce.size(); ++i) {
    const PromptNeeds::Columns& want = needs_.columns[i];
    Columns& columns = layer.by_reduce[i];
    columns.sums.resize(want.sums.size());
    for (std::vector<double>& sum : columns.sums) sum.assign(all, 0.0);
    columns.hits.assign(config_.n_kv_heads, want.hits > 0 ? HitHistory(want.hits, n_total) : HitHistory());
    columns.rows.resize(config_.n_kv_heads);
    for (std::vector<double>& rows : columns.rows) {
      rows.clear();
      rows.reserve(static_cast<std::size_t>(std::min(want.rows, n_total)) * n_total);
    }
  }
  layer.outside.assign(needs_.outside.size(), std::vector<double>(config_.n_kv_heads, 0.0));
  for (Head& head : layer.heads) {
    head.z.clear();
    head.z.reserve(static_cast<std::size_t>(std::min(needs_.z_rows, n_total)) * config_.group() * n_total);
  }
}

void PromptRun::replay(int layer, const History& history, std::span<const std::shared_ptr<const Buffer>> queries,
                       const PromptNeeds& needs) {
  const int n_total = history.size();
  KVSCOPE_ASSERT(static_cast<int>(queries.size()) == n_total && !needs.key_norm && needs.scorers.empty() && !needs.value_norms &&
                 needs.queries == 0);
  needs_ = needs;
  tokens_.assign(n_total, -1);  // nobody's text: update() starts anew
  done_ = 0;
  saves_ = false;
  const std::size_t row_bytes = size_of(backend_.dtype()) * config_.q_dim();
  const int chunk = backend_.prompt_rows();
  const std::size_t most = row_bytes * static_cast<std::size_t>(std::min(chunk, n_total));
  Buffer q = backend_.allocate(most), out = backend_.allocate(most);
  for (int first = 0; first < n_total; first += chunk) {
    const int rows = std::min(chunk, n_total - first);
    for (int r = 0; r < rows; ++r) backend_.copy(static_cast<std::byte*>(q.data()) + row_bytes * r, queries[first + r]->data(), row_bytes);
    std::vector<std::vector<KvSegment>> slots;
    for (int h = 0; h < config_.n_kv_heads; ++h) slots.push_back(history.segments(h, first + rows));
    Site site(*this, first, n_total);
    site.gather({.layer = layer, .rows = rows, .q = q.data(), .out = out.data()}, slots);
    backend_.finish_sums();
  }
}

template <class Body>
void PromptRun::for_each_sum(Layer& layer, const Body& body) {
  for (Columns& columns : layer.by_reduce)
    for (std::vector<double>& x : columns.sums) body(x);
}

void PromptRun::save_sums(Layer& layer, int n) {
  if (!saves_) return;
  const std::size_t n_heads = config_.n_kv_heads;
  std::size_t arrays = 0;
  for_each_sum(layer, [&](const std::vector<double>&) { ++arrays; });
  if (saving_.empty()) saving_.reserve(layers_.size() * n_heads * (arrays * n + needs_.outside.size()));
  for_each_sum(layer, [&](const std::vector<double>& x) {
    const std::size_t stride = x.size() / n_heads;
    for (std::size_t h = 0; h < n_heads; ++h) saving_.insert(saving_.end(), x.data() + h * stride, x.data() + h * stride + n);
  });
}

void PromptRun::load_sums(const std::vector<double>& saved, int n_saved, int n_total) {
  KVSCOPE_ASSERT(n_saved <= n_total);
  const double* from = saved.data();
  for (Layer& layer : layers_) {
    for_each_sum(layer, [&](std::vector<double>& x) {
      for (int h = 0; h < config_.n_kv_heads; ++h, from += n_saved)
        std::copy_n(from, n_saved, x.data() + static_cast<std::size_t>(h) * n_total);
    });
  }
  for (Layer& layer : layers_) {
    for (std::vector<double>& x : layer.outside) {
      std::copy_n(from, x.size(), x.begin());
      from += x.size();
    }
  }
  KVSCOPE_ASSERT(from == saved.data() + saved.size());
}

const void* PromptRun::query(int layer, int position) const {
  const int from = size() - std::min(needs_.queries, size());
  KVSCOPE_ASSERT(position >= from && position < size());
  return static_cast<const std::byte*>(layers_[layer].queries.data()) + size_of(backend_.dtype()) * config_.q_dim() * (position - from);
}

PromptStats PromptRun::stats(int layer, int kv_head, const StatNeeds& needs) const {
  const Layer& all = layers_[layer];
  const Head& head = all.heads[kv_head];
  const Columns& columns = all.by_reduce[static_cast<int>(needs.group)];
  const int n = size(), group = config_.group();
  const auto of_head = [&](const std::vector<double>& x) {
    return std::span<const double>(x).subspan(static_cast<std::size_t>(kv_head) * n, n);
  };
  PromptStats out;
  out.n = n;
  const std::vector<PromptSum>& sums = needs_.columns[static_cast<int>(needs.group)].sums;
  for (std::size_t i = 0; i < sums.size(); ++i) out.sums.push_back({sums[i], of_head(columns.sums[i])});
  if (needs.hits > 0) out.hits = &columns.hits[kv_head];
  if (needs.key_norm) out.key_norm = head.key_norm;
  if (needs.scorer) {
    const auto place = std::ranges::find(needs_.scorers, needs.scorer) - needs_.scorers.begin();
    out.learned = head.learned[static_cast<std::size_t>(place)];
  }
  if (needs.outside) {
    const auto place = std::ranges::find(needs_.outside, *needs.outside) - needs_.outside.begin();
    out.outside = all.outside[static_cast<std::size_t>(place)][kv_head] / (static_cast<double>(n) * group);
  }
  const auto tail = [n](const std::vector<double>& rows, int wanted, std::size_t row_size) {
    const std::size_t held = row_size > 0 ? rows.size() / row_size : 0, w = std::min<std::size_t>(std::min(wanted, n), held);
    return std::span<const double>(rows).subspan((held - w) * row_size);
  };
  if (needs.prompt_rows() > 0) out.last_rows = tail(columns.rows[kv_head], needs.prompt_rows(), n);
  const int z_rows = std::max(needs.z_rows, needs.z_now ? 1 : 0);
  if (z_rows > 0) out.last_z = tail(head.z, z_rows, static_cast<std::size_t>(group) * n);
  return out;
}

}  // namespace kvscope
