// SPDX-License-Identifier: Apache-2.0
#include "runtime/prompt/probe_run.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "core/not_available.h"
#include "core/place.h"
#include "core/vector_math.h"
#include "runtime/stopwatch.h"

namespace kvscope {
namespace {

constexpr std::size_t kMostBytes = 32u << 20;  // of attention that is looked at in one go

}  // namespace

/// One stretch: runs its probe in chunks and keeps the maxima.
class ProbeRun::Pass final : public AttentionSite {
 public:
  /// [first, end): the stretch; wanted: all of this stretch's length.
  Pass(ProbeRun& run, const PromptRun& prompt, int first, int end, std::span<const Probe> wanted)
      : run_(run), c_(run.model_.config()), n_prompt_(prompt.size()), first_(first), end_(end) {
    for (int l = 0; l < c_.n_layers; ++l) caches_.push_back(prompt.history(l));  // pages are shared until they are written to
    for (const Probe& probe : wanted) {
      const std::vector<std::vector<double>> nothing(caches_.size(), std::vector<double>(at(c_.n_heads) * at(end - first), 0.0));
      readings_.push_back({.sinks = std::min(probe.sinks, first), .by_output = probe.by_output, .most = nothing, .paid = {}});
      if (probe.by_output) readings_.back().paid = nothing;
    }
  }

  void run(std::span<const int> tokens, Forward& forward, const CancelToken& cancel, const Forward::LayerDone& layer_done) {
    const auto chunk = at(run_.backend_.prompt_rows());
    std::vector<int> positions;
    for (std::size_t done = 0; done < tokens.size(); done += chunk) {
      const std::span<const int> rows = tokens.subspan(done, std::min(chunk, tokens.size() - done));
      positions.resize(rows.size());
      std::iota(positions.begin(), positions.end(), n_prompt_ + static_cast<int>(done));
      forward.run(rows, positions, *this, cancel, layer_done);
    }
  }

  void attend(const LayerRows& rows) override {
    Backend& b = run_.backend_;
    History& cache = caches_[at(rows.layer)];
    const int seen = cache.size();
    const std::size_t head = size_of(b.dtype()) * at(c_.head_dim);
    cache.append(rows.k, rows.v, head, rows.rows);
    std::vector<std::vector<KvSegment>> slots;
    for (int h = 0; h < c_.n_kv_heads; ++h) slots.push_back(cache.segments(h));
    const bool looks = c_.window(rows.layer) == 0;
    if (looks) read_norms(rows);
    const std::size_t row = sizeof(double) * at(c_.n_heads) * at(cache.size());
    const int block = looks ? std::max(1, static_cast<int>(kMostBytes / row)) : rows.rows;
    for (int r = 0; r < rows.rows; r += block) {
      PromptAttentionJob job{.slots = slots, .first = seen + r, .rows = std::min(block, rows.rows - r)};
      job.q = place(rows.q, head * at(r * c_.n_heads));
      job.out = static_cast<std::byte*>(rows.out) + head * at(r * c_.n_heads);
      job.layer = c_.layer(rows.layer);
      const std::size_t n = at(c_.n_heads) * at(job.rows) * at(job.first + job.rows);
      if (looks) {
        job.probability_rows = job.rows;
        if (attention_.bytes() < n * size_of(b.dtype())) attention_ = b.allocate(n * size_of(b.dtype()));
        job.probabilities = attention_.data();
      }
      b.attend_prompt(job);
      if (looks) look(rows.layer, r, job, n);
    }
  }

  /// Into the result of the reading at this place.
  void put(std::size_t reading, Result& to) const {
    const Reading& from = readings_[reading];
    const std::size_t n = at(end_ - first_);
    for (std::size_t l = 0; l < caches_.size(); ++l) {
      if (c_.window(static_cast<int>(l)) > 0) continue;
      run_.backend_.for_each(c_.n_kv_heads, [&](int h) {
        const std::size_t place = at(h) * at(n_prompt_) + at(first_);
        for (int g = h * c_.group(); g < (h + 1) * c_.group(); ++g) {
          const double* most = from.most[l].data() + at(g) * n;
          const std::vector<double> norms = from.by_output ? output_norms(static_cast<int>(l), g) : std::vector<double>(n, 1.0);
          double* const found = to.found[l].data() + place;
          for (std::size_t i = 0; i < n; ++i) found[i] = std::max(found[i], most[i] * norms[i]);
          if (!from.by_output) continue;
          const double* paid = from.paid[l].data() + at(g) * n;
          float* const attention = to.attention[l].data() + place;
          for (std::size_t i = 0; i < n; ++i) attention[i] = std::max(attention[i], static_cast<float>(paid[i]));
        }
      });
    }
  }

 private:
  struct Reading {
    int sinks = 0;
    bool by_output = false;
    std::vector<std::vector<double>> most;  // [n_layers] of [n_heads, stretch]: the most so far
    std::vector<std::vector<double>> paid;  // by_output: the same of the attention alone
  };

  static const std::byte* place(const void* base, std::size_t offset) { return static_cast<const std::byte*>(base) + offset; }

  /// 1 / ||x_t|| of the rows.
  void read_norms(const LayerRows& rows) {
    inverse_norms_.assign(at(rows.rows), 1.0);
    if (std::ranges::none_of(readings_, &Reading::by_output)) return;
    Buffer norms = run_.backend_.allocate(sizeof(double) * inverse_norms_.size());
    run_.backend_.row_norms(rows.in, rows.rows, c_.dim, norms.as<double>(), /*reads_out=*/true);
    run_.backend_.download(inverse_norms_.data(), norms.data(), sizeof(double) * inverse_norms_.size());
    for (double& x : inverse_norms_) x = 1 / x;
  }

  /// job's n probabilities, whose first row is row `offset` of the chunk. The attention among some slots is their part of all of it, as a
  /// share of what they get together. A row's other slots are not looked at, nor made doubles of where the host has the row.
  void look(int layer, int offset, const PromptAttentionJob& job, std::size_t n) {
    const Backend& b = run_.backend_;
    const std::size_t seen = at(job.first + job.rows), rows = at(job.rows), stretch = at(end_ - first_);
    const bool row_by_row = b.workers() > 0;
    if (!row_by_row) host_.resize(std::max(host_.size(), n));
    if (!row_by_row) run_.backend_.to_double(std::span(host_).first(n), attention_.data());
    int sinks = 0;
    for (const Reading& reading : readings_) sinks = std::max(sinks, reading.sinks);
    run_.backend_.for_each(c_.n_heads, [&](int g) {
      std::vector<double> row(row_by_row ? seen : 0);
      for (std::size_t r = 0; r < rows; ++r) {
        const std::size_t first = (at(g) * rows + r) * seen;
        for (const auto& [begin, end] : {std::pair(0, sinks), std::pair(first_, end_), std::pair(n_prompt_, static_cast<int>(seen))})
          if (row_by_row)
            run_.backend_.to_double(std::span(row).subspan(at(begin), at(end - begin)),
                                    place(attention_.data(), size_of(b.dtype()) * (first + at(begin))));
        const std::span<const double> p = row_by_row ? std::span<const double>(row) : std::span<const double>(host_).subspan(first, seen);
        const std::span<const double> repeated = p.subspan(at(first_), stretch);
        const double others = sum_of(repeated), own = sum_of(p.subspan(at(n_prompt_)));
        for (Reading& reading : readings_) {
          const double among = sum_of(p.first(at(reading.sinks))) + others + own;
          const auto most = [&](std::vector<std::vector<double>>& of) {
            return std::span(of[at(layer)]).subspan(at(g) * stretch, stretch);
          };
          keep_most(most(reading.most), repeated.data(), (reading.by_output ? inverse_norms_[at(offset) + r] : 1.0) / among);
          if (reading.by_output) keep_most(most(reading.paid), repeated.data(), 1 / among);
        }
      }
    });
  }

  /// ||v_i W_O^(g)||_2 of the stretch.
  std::vector<double> output_norms(int layer, int g) const {
    std::vector<double> norms, rows;
    for (const KvSegment& s : caches_[at(layer)].segments(g / c_.group(), end_, first_)) {
      rows.resize(at(s.n) * at(c_.dim));
      run_.backend_.wo_rows(s.v, c_.head_dim, run_.model_.layers[at(layer)].wo, g, s.n, rows);
      for (int r = 0; r < s.n; ++r) {
        const std::span<const double> row = std::span(rows).subspan(at(r) * at(c_.dim), at(c_.dim));
        norms.push_back(std::sqrt(std::inner_product(row.begin(), row.end(), row.begin(), 0.0)));
      }
    }
    return norms;
  }

  ProbeRun& run_;
  const ModelConfig& c_;
  int n_prompt_, first_, end_;
  std::vector<History> caches_;
  std::vector<Reading> readings_;
  Buffer attention_;          // [n_heads, rows, slots] of one block
  std::vector<double> host_;  // the same, of a device
  std::vector<double> inverse_norms_;
};

void ProbeRun::update(const PromptRun& prompt, std::span<const Probe> wanted, Forward& forward, const CancelToken& cancel,
                      const Forward::LayerDone& layer_done) {
  if (prompt_ != prompt.tokens()) results_.clear();
  prompt_ = prompt.tokens();
  std::vector<Probe> missing;
  for (const Probe& probe : wanted)
    if (!results_.contains(probe)) missing.push_back(probe);
  std::ranges::sort(missing);
  if (!missing.empty() && !text_) text_.emplace(model_.files);
  for (auto from = missing.begin(); from != missing.end();) {
    const auto to = std::find_if(from, missing.end(), [&](const Probe& probe) { return probe.stretch != from->stretch; });
    const std::span<const Probe> together(from, to);
    std::vector<Result> results = run(prompt, together, forward, cancel, layer_done);
    for (std::size_t i = 0; i < results.size(); ++i) results_[together[i]] = std::move(results[i]);
    from = to;
  }
}

std::vector<ProbeRun::Result> ProbeRun::run(const PromptRun& prompt, std::span<const Probe> together, Forward& forward,
                                            const CancelToken& cancel, const Forward::LayerDone& layer_done) {
  const ModelConfig& c = model_.config();
  const int begin = text_->start(prompt.tokens()), n = prompt.size(), stretch = together.front().stretch;
  Result empty;
  for (int l = 0; l < c.n_layers; ++l) empty.found.emplace_back(at(c.n_kv_heads) * at(n), c.window(l) > 0 ? kNotAvailable : 0.0);
  std::vector<Result> results(together.size(), empty);
  for (std::size_t i = 0; i < results.size(); ++i)
    for (const std::vector<double>& found : results[i].found)
      if (together[i].by_output) results[i].attention.emplace_back(found.begin(), found.end());
  double ms = 0;
  {
    const Stopwatch watch(ms);
    for (int first = begin; first < n; first += stretch) {
      const int end = std::min(n, first + stretch);
      const std::vector<int> tokens = text_->tokens(prompt.tokens(), std::max(begin, first - stretch), first, end);
      Pass pass(*this, prompt, first, end, together);
      pass.run(tokens, forward, cancel, layer_done);
      for (std::size_t i = 0; i < results.size(); ++i) {
        pass.put(i, results[i]);
        results[i].tokens += static_cast<int>(tokens.size());
      }
    }
  }
  for (Result& result : results) result.ms = ms;
  return results;
}

std::span<const double> ProbeRun::found(const StatNeeds& needs, int layer, int kv_head) const {
  if (!needs.probe) return {};
  const std::size_t n = prompt_.size();
  return std::span(results_.at(*needs.probe).found[at(layer)]).subspan(at(kv_head) * n, n);
}

std::vector<float> ProbeRun::attention(const StatNeeds& needs, int layer, int kv_head) const {
  const Result& result = results_.at(*needs.probe);
  const auto first = static_cast<std::ptrdiff_t>(at(kv_head) * prompt_.size()), last = first + static_cast<std::ptrdiff_t>(prompt_.size());
  if (result.attention.empty()) return {result.found[at(layer)].begin() + first, result.found[at(layer)].begin() + last};
  return {result.attention[at(layer)].begin() + first, result.attention[at(layer)].begin() + last};
}

}  // namespace kvscope
