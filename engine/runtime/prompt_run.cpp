// SPDX-License-Identifier: Apache-2.0
#include "runtime/prompt_run.h"

#include <algorithm>
#include <limits>

#include "runtime/key_norms.h"
#include "runtime/value_l1.h"

namespace kvscope {

namespace {

constexpr int kChunk = History::kPage;

/// abar of one query row: reduces p [group, stride] over the group into out [n].
void reduce_group(const double* p, std::size_t stride, int group, int n, GroupReduce how, double* out) {
  std::copy_n(p, n, out);
  for (int g = 1; g < group; ++g) {
    const double* row = p + stride * g;
    if (how == GroupReduce::max) {
      for (int i = 0; i < n; ++i) out[i] = std::max(out[i], row[i]);
    } else {
      for (int i = 0; i < n; ++i) out[i] += row[i];
    }
  }
  if (how == GroupReduce::mean) {
    for (int i = 0; i < n; ++i) out[i] /= group;
  }
}

}  // namespace

PromptRun::PromptRun(Backend& backend, const Model& model) : backend_(backend), model_(model), config_(model.config()) {
  for (int l = 0; l < config_.n_layers; ++l) {
    layers_.emplace_back(History(backend, config_.n_kv_heads));
    layers_.back().heads.resize(config_.n_kv_heads);
    const std::size_t bytes = size_of(backend.dtype()) * config_.q_dim();
    layers_.back().last_q = backend.allocate(bytes);
    layers_.back().last_o = backend.allocate(bytes);
  }
}

/// Attention of one chunk: appends to the histories and gathers what the lanes asked for.
class PromptRun::Site final : public AttentionSite {
 public:
  Site(PromptRun& run, int first, int n_total) : run_(run), first_(first), n_total_(n_total) {}

  void before_rotation(const LayerRows& rows) override {
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

  void attend(const LayerRows& rows) override {
    const ModelConfig& c = run_.config_;
    Backend& b = run_.backend_;
    Layer& layer = run_.layers_[rows.layer];
    const std::size_t element = size_of(b.dtype());
    for (int r = 0; r < rows.rows; ++r) {
      const std::size_t offset = element * r * c.kv_dim();
      layer.history.append(static_cast<const std::byte*>(rows.k) + offset, static_cast<const std::byte*>(rows.v) + offset, element * c.head_dim);
    }
    if (run_.needs_.value_norms) {
      layer.value_norms.resize(static_cast<std::size_t>(first_) * c.n_heads);
      append_value_l1(b, run_.model_.layers[rows.layer].wo, rows.v, rows.rows, c, layer.value_norms);
    }
    const int n = first_ + rows.rows;
    std::vector<std::vector<KvSegment>> slots;
    for (int h = 0; h < c.n_kv_heads; ++h) slots.push_back(layer.history.segments(h));

    const bool last_chunk = n == n_total_;
    int rows_wanted = last_chunk ? 1 : 0;
    bool sums = !run_.needs_.outside.empty();
    for (const auto& columns : run_.needs_.columns) {
      sums |= columns.any_sums();
      rows_wanted = std::max(rows_wanted, columns.last_rows() - (n_total_ - n));
    }
    const int z_wanted = run_.needs_.z_rows - (n_total_ - n);
    const bool want_p = sums || rows_wanted > 0, want_z = z_wanted > 0;
    const std::size_t count = static_cast<std::size_t>(c.n_heads) * rows.rows * n;
    for (const auto& [want, buffer] : {std::pair{want_p, &run_.probabilities_}, std::pair{want_z, &run_.z_}}) {
      if (want && buffer->bytes() < count * element) *buffer = b.allocate(count * element);
    }
    b.attend_prompt({.slots = slots,
                     .first = first_,
                     .rows = rows.rows,
                     .q = rows.q,
                     .out = rows.out,
                     .probabilities = want_p ? run_.probabilities_.data() : nullptr,
                     .logits = want_z ? run_.z_.data() : nullptr});
    run_.host_.resize(std::max(run_.host_.size(), count));
    const std::span<double> host(run_.host_.data(), count);
    if (want_p) {
      b.to_double(host, run_.probabilities_.data());
      gather_probabilities(layer, host, rows.rows, n);
    }
    if (last_chunk) {
      keep_last(layer, rows, host, n);
    }
    if (want_z) {
      b.to_double(host, run_.z_.data());
      gather_logits(layer, host, rows.rows, n);
    }
  }

 private:
  // p [n_heads, rows, n]
  void gather_probabilities(Layer& layer, std::span<const double> p, int rows, int n) {
    const ModelConfig& c = run_.config_;
    const std::size_t head_stride = static_cast<std::size_t>(rows) * n;
    std::vector<double> abar(n);
    for (int h = 0; h < c.n_kv_heads; ++h) {
      const double* group_p = p.data() + head_stride * c.group() * h;
      gather_outside(layer.heads[h], group_p, rows, n);
      for (int how = 0; how < 3; ++how) {
        const PromptNeeds::Columns& want = run_.needs_.columns[how];
        if (!want.any_sums() && want.last_rows() == 0) continue;
        Columns& out = layer.heads[h].by_reduce[how];
        for (int r = 0; r < rows; ++r) {
          const int visible = first_ + r + 1;
          const int row = first_ + r - (n_total_ - std::min(want.rows, n_total_));  // index among the last rows
          const bool counts = first_ + r >= n_total_ - want.hits;
          if (!want.any_sums() && row < 0 && !counts) continue;
          reduce_group(group_p + static_cast<std::size_t>(r) * n, head_stride, c.group(), visible, static_cast<GroupReduce>(how), abar.data());
          if (want.sum) {
            for (int i = 0; i < visible; ++i) out.sum[i] += abar[i];
          }
          if (want.sum_sq) {
            for (int i = 0; i < visible; ++i) out.sum_sq[i] += abar[i] * abar[i];
          }
          for (std::size_t x = 0; x < want.lambdas.size(); ++x) {
            for (int i = 0; i < visible; ++i) out.decayed[x][i] = want.lambdas[x] * out.decayed[x][i] + abar[i];
          }
          if (counts) out.hits.push(std::span<const double>(abar).first(visible), 1.0 / visible);
          if (row >= 0) std::copy_n(abar.data(), visible, out.rows.data() + static_cast<std::size_t>(row) * n_total_);
        }
      }
    }
  }

  // group_p [group, rows, n]
  void gather_outside(Head& head, const double* group_p, int rows, int n) {
    for (std::size_t x = 0; x < head.outside.size(); ++x) {
      const StatNeeds::Outside& inside = run_.needs_.outside[x];
      for (int g = 0; g < run_.config_.group(); ++g) {
        for (int r = 0; r < rows; ++r) {
          const double* row = group_p + (static_cast<std::size_t>(g) * rows + r) * n;
          double sum = 0;
          for (int i = inside.sinks; i <= first_ + r - inside.recent; ++i) sum += row[i];
          head.outside[x] += sum;
        }
      }
    }
  }

  // z [n_heads, rows, n], -inf above the diagonal
  void gather_logits(Layer& layer, std::span<const double> z, int rows, int n) {
    const ModelConfig& c = run_.config_;
    const int w = std::min(run_.needs_.z_rows, n_total_);
    for (int g = 0; g < c.n_heads; ++g) {
      Head& head = layer.heads[g / c.group()];
      for (int r = 0; r < rows; ++r) {
        const int row = first_ + r - (n_total_ - w);
        if (row < 0) continue;
        const double* from = z.data() + (static_cast<std::size_t>(g) * rows + r) * n;
        double* to = head.z.data() + (static_cast<std::size_t>(row) * c.group() + g % c.group()) * n_total_;
        std::copy_n(from, first_ + r + 1, to);
      }
    }
  }

  void keep_last(Layer& layer, const LayerRows& rows, std::span<const double> p, int n) {
    const ModelConfig& c = run_.config_;
    Backend& b = run_.backend_;
    const std::size_t bytes = size_of(b.dtype()) * c.q_dim(), offset = bytes * (rows.rows - 1);
    b.copy(layer.last_q.data(), static_cast<const std::byte*>(rows.q) + offset, bytes);
    b.copy(layer.last_o.data(), static_cast<const std::byte*>(rows.out) + offset, bytes);
    layer.last_attention.resize(static_cast<std::size_t>(c.n_heads) * n);
    for (int g = 0; g < c.n_heads; ++g) {
      std::copy_n(p.data() + (static_cast<std::size_t>(g) * rows.rows + rows.rows - 1) * n, n, layer.last_attention.data() + static_cast<std::size_t>(g) * n);
    }
  }

  PromptRun& run_;
  int first_, n_total_;
};

int PromptRun::update(std::span<const int> tokens, const PromptNeeds& needs, Forward& forward, const CancelToken& cancel,
                      const Forward::LayerDone& layer_done) {
  const int n_total = static_cast<int>(tokens.size());
  const bool same_tokens = std::equal(tokens.begin(), tokens.end(), tokens_.begin(), tokens_.end()) && done_ == n_total;
  if (same_tokens && needs_.covers(needs)) return 0;

  int common = 0;
  while (common < std::min(n_total, done_) && tokens[common] == tokens_[common]) ++common;
  int restart = 0;
  if (needs_.covers_sums(needs)) {
    // the last rows and the last query are not kept at chunk boundaries: go back far enough to see them all again
    int rows = 1;
    for (const auto& columns : needs.columns) rows = std::max(rows, columns.last_rows());
    rows = std::max(rows, needs.z_rows);
    restart = std::max(0, std::min(common, n_total - rows)) / kChunk * kChunk;
  }
  if (restart == 0) {  // sums gathered anew: drop what nobody asks for any more
    needs_ = needs;
  } else {
    for (std::size_t i = 0; i < needs.columns.size(); ++i) {
      needs_.columns[i].rows = needs.columns[i].rows;
      needs_.columns[i].hits = needs.columns[i].hits;
    }
    needs_.z_rows = needs.z_rows;
  }
  tokens_.assign(tokens.begin(), tokens.end());
  restart_at(restart, n_total);

  std::vector<int> positions(kChunk);
  for (int first = restart; first < n_total; first += kChunk) {
    const int rows = std::min(kChunk, n_total - first);
    positions.resize(rows);
    for (int r = 0; r < rows; ++r) positions[r] = first + r;
    Site site(*this, first, n_total);
    try {
      forward.run(tokens.subspan(first, rows), positions, site, cancel, layer_done);
    } catch (...) {  // a chunk that stopped half-way leaves no trace
      restart_at(first, n_total);
      throw;
    }
    done_ = first + rows;
    if (done_ % kChunk == 0) {
      saved_.resize(done_ / kChunk + 1);
      saved_[done_ / kChunk] = save_sums();
    }
    if (done_ == n_total) {
      logits_.resize(config_.vocab_size);
      const std::span<double> last(logits_);
      forward.logits(rows - 1, {&last, 1});
    }
  }
  return n_total - restart;
}

void PromptRun::restart_at(int n, int n_total) {
  done_ = n;
  for (Layer& layer : layers_) {
    layer.history.truncate(std::min(n, layer.history.size()));
    for (Head& head : layer.heads) {
      for (std::size_t i = 0; i < head.by_reduce.size(); ++i) {
        const PromptNeeds::Columns& want = needs_.columns[i];
        Columns& columns = head.by_reduce[i];
        columns.sum.assign(want.sum ? n_total : 0, 0.0);
        columns.sum_sq.assign(want.sum_sq ? n_total : 0, 0.0);
        columns.decayed.assign(want.lambdas.size(), std::vector<double>(n_total, 0.0));
        columns.hits = want.hits > 0 ? HitHistory(want.hits) : HitHistory();
        for (int slot = 0; slot < n_total && want.hits > 0; ++slot) columns.hits.append_slot();
        columns.rows.assign(static_cast<std::size_t>(std::min(want.rows, n_total)) * n_total, 0.0);
      }
      head.key_norm.resize(std::min(head.key_norm.size(), static_cast<std::size_t>(needs_.key_norm ? n : 0)));
      head.outside.assign(needs_.outside.size(), 0.0);
      head.z.assign(static_cast<std::size_t>(std::min(needs_.z_rows, n_total)) * config_.group() * n_total, -std::numeric_limits<double>::infinity());
    }
  }
  saved_.resize(n / kChunk + 1);
  if (n > 0) load_sums(saved_[n / kChunk], n, n_total);
}

std::vector<double> PromptRun::save_sums() const {
  std::vector<double> out;
  for (const Layer& layer : layers_) {
    for (const Head& head : layer.heads) {
      for (const Columns& columns : head.by_reduce) {
        for (const auto* x : {&columns.sum, &columns.sum_sq}) {
          if (!x->empty()) out.insert(out.end(), x->begin(), x->begin() + done_);
        }
        for (const auto& x : columns.decayed) out.insert(out.end(), x.begin(), x.begin() + done_);
      }
      out.insert(out.end(), head.outside.begin(), head.outside.end());
    }
  }
  return out;
}

void PromptRun::load_sums(const std::vector<double>& saved, int n_saved, int n_total) {
  KVSCOPE_ASSERT(n_saved <= n_total);
  const double* from = saved.data();
  for (Layer& layer : layers_) {
    for (Head& head : layer.heads) {
      for (Columns& columns : head.by_reduce) {
        for (auto* x : {&columns.sum, &columns.sum_sq}) {
          if (x->empty()) continue;
          std::copy_n(from, n_saved, x->begin());
          from += n_saved;
        }
        for (auto& x : columns.decayed) {
          std::copy_n(from, n_saved, x.begin());
          from += n_saved;
        }
      }
      std::copy_n(from, head.outside.size(), head.outside.begin());
      from += head.outside.size();
    }
  }
  KVSCOPE_ASSERT(from == saved.data() + saved.size());
}

PromptStats PromptRun::stats(int layer, int kv_head, const StatNeeds& needs) const {
  const Head& head = layers_[layer].heads[kv_head];
  const Columns& columns = head.by_reduce[static_cast<int>(needs.group)];
  const int n = size(), group = config_.group();
  PromptStats out;
  out.n = n;
  if (needs.sum) out.sum = columns.sum;
  if (needs.sum_sq) out.sum_sq = columns.sum_sq;
  if (needs.decayed) {
    const std::vector<double>& lambdas = needs_.columns[static_cast<int>(needs.group)].lambdas;
    out.decayed = columns.decayed[static_cast<std::size_t>(std::ranges::find(lambdas, needs.lambda) - lambdas.begin())];
  }
  if (needs.hits > 0) out.hits = &columns.hits;
  if (needs.key_norm) out.key_norm = head.key_norm;
  if (needs.outside) {
    const auto place = std::ranges::find(needs_.outside, *needs.outside) - needs_.outside.begin();
    out.outside = head.outside[static_cast<std::size_t>(place)] / (static_cast<double>(n) * group);
  }
  const auto tail = [n](const std::vector<double>& rows, int wanted, std::size_t row_size) {
    const std::size_t held = row_size > 0 ? rows.size() / row_size : 0, w = std::min<std::size_t>(std::min(wanted, n), held);
    return std::span<const double>(rows).subspan((held - w) * row_size);
  };
  if (needs.rows > 0) out.last_rows = tail(columns.rows, needs.rows, n);
  const int z_rows = std::max(needs.z_rows, needs.z_now ? 1 : 0);
  if (z_rows > 0) out.last_z = tail(head.z, z_rows, static_cast<std::size_t>(group) * n);
  return out;
}

}  // namespace kvscope
