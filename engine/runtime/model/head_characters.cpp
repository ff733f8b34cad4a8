// SPDX-License-Identifier: Apache-2.0
#include "runtime/model/head_characters.h"

#include <fmt/core.h>

#include <cmath>
#include <numeric>

#include "cache/history.h"
#include "core/error.h"
#include "core/place.h"
#include "runtime/session/session_impl.h"

namespace kvscope {

namespace {

/// Runs a text as one batch and hands out every attention row: look(layer * n_heads + query head, position, row [position + 1]).
class AllRows final : public AttentionSite {
 public:
  using Look = std::function<void(std::size_t head, int position, std::span<const double> row)>;

  AllRows(Backend& backend, const ModelConfig& config, const Look& look) : backend_(backend), config_(config), look_(look) {}

  void attend(const LayerRows& rows) override {
    const int n = rows.rows;
    const std::size_t element = size_of(backend_.dtype());
    History history(backend_, config_.n_kv_heads);
    history.append(rows.k, rows.v, element * at(config_.head_dim), n);
    std::vector<std::vector<KvSegment>> slots;
    for (int h = 0; h < config_.n_kv_heads; ++h) slots.push_back(history.segments(h));
    const std::size_t square = at(n) * at(n), count = at(config_.n_heads) * square;
    if (probabilities_.bytes() < count * element) probabilities_ = backend_.allocate(count * element);
    backend_.attend_prompt({.slots = slots,
                            .rows = n,
                            .q = rows.q,
                            .out = rows.out,
                            .probability_rows = n,
                            .probabilities = probabilities_.data(),
                            .layer = config_.layer(rows.layer)});
    host_.resize(count);
    backend_.to_double(host_, probabilities_.data());
    for (int g = 0; g < config_.n_heads; ++g)
      for (int t = 0; t < n; ++t)
        look_(at(rows.layer * config_.n_heads + g), t, std::span(host_).subspan(at(g) * square + at(t) * at(n), at(t) + 1));
  }

 private:
  Backend& backend_;
  const ModelConfig& config_;
  const Look& look_;
  Buffer probabilities_;
  std::vector<double> host_;
};

void check(std::size_t n, int at_least, const ModelConfig& config) {
  if (n <= at(at_least)) throw UsageError(fmt::format("head characters: expected texts of more than {} tokens, got {}", at_least, n));
  if (config.max_positions > 0 && n > at(config.max_positions))
    throw UsageError(
        fmt::format("head characters: a text of {} tokens, but {} was made for {}; shorten it", n, config.name, config.max_positions));
}

void check(const RepeatedText& text, const ModelConfig& config) {
  check(text.ids.size(), 1, config);
  const int n = static_cast<int>(text.ids.size());
  const bool repeats =
      text.first >= 0 && text.length > 1 && text.first + 2 * text.length == n &&
      std::equal(text.ids.begin() + text.first, text.ids.begin() + text.first + text.length, text.ids.begin() + text.first + text.length);
  if (!repeats)
    throw UsageError(
        fmt::format("head characters: expected {} tokens and the same again after {}, got another text", text.length, text.first));
}

double sum(std::span<const double> x) { return std::accumulate(x.begin(), x.end(), 0.0); }

double entropy_of(std::span<const double> row) {
  double nats = 0;
  for (const double a : row) nats -= a > 0 ? a * std::log(a) : 0.0;
  return nats;
}

}  // namespace

HeadCharacters head_characters(ModelFiles files, const SessionOptions& session, std::span<const std::vector<int>> prose,
                               std::span<const RepeatedText> repeated, const HeadCharacterOptions& options, const CancelToken& cancel,
                               const std::function<void(double)>& progress) {
  const auto backend = choose_backend(session, files).backend;
  const Model model = load_model(std::move(files), *backend);
  const ModelConfig& c = model.config();
  if (prose.empty() || repeated.empty())
    throw UsageError("head characters: expected at least one text of prose and one that repeats, got none");
  for (const std::vector<int>& ids : prose) check(ids.size(), options.first_query, c);
  for (const RepeatedText& text : repeated) check(text, c);

  Forward forward(*backend, model);
  HeadCharacters out;
  out.n_layers = c.n_layers;
  out.n_heads = c.n_heads;
  out.sink_tokens = options.sinks;
  out.near_tokens = options.near;
  const std::size_t n_heads = at(c.n_layers) * at(c.n_heads);
  for (auto* x : {&out.sink, &out.local, &out.previous, &out.entropy, &out.induction}) x->assign(n_heads, 0.0);
  std::size_t n_queries = 0, n_copies = 0, n_done = 0;
  const auto run = [&](std::span<const int> ids, const AllRows::Look& look) {
    std::vector<int> positions(ids.size());
    std::iota(positions.begin(), positions.end(), 0);
    AllRows site(*backend, c, look);
    forward.set_prompt_length(static_cast<int>(ids.size()));
    forward.run(ids, positions, site, cancel);
    if (progress) progress(static_cast<double>(++n_done) / static_cast<double>(prose.size() + repeated.size()));
  };
  for (const std::vector<int>& ids : prose) {
    n_queries += ids.size() - at(options.first_query);
    run(ids, [&](std::size_t head, int t, std::span<const double> row) {
      if (t < options.first_query) return;
      out.sink[head] += sum(row.first(std::min(at(options.sinks), row.size())));
      out.local[head] += sum(row.last(std::min(at(options.near), row.size())));
      out.previous[head] += row[at(t) - 1];
      out.entropy[head] += entropy_of(row);
    });
  }
  for (const RepeatedText& text : repeated) {
    const int second = text.first + text.length;
    n_copies += at(text.length);
    run(text.ids, [&](std::size_t head, int t, std::span<const double> row) {
      if (t >= second) out.induction[head] += row[at(t - text.length) + 1];
    });
  }
  for (auto* x : {&out.sink, &out.local, &out.previous, &out.entropy})
    for (double& value : *x) value /= static_cast<double>(n_queries);
  for (double& value : out.induction) value /= static_cast<double>(n_copies);
  return out;
}

}  // namespace kvscope
