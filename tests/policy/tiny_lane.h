// SPDX-License-Identifier: Apache-2.0
// A cache with keys, values and random queries, small enough to read: what a policy decides is carried out here in plain loops.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "core/slot_runs.h"
#include "policy/apply_plan.h"
#include "policy/policy.h"

namespace kvscope::test {

using Rows = std::vector<std::vector<double>>;

inline double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

/// Cosines of given key rows.
class RowGeometry final : public KeyGeometry {
 public:
  explicit RowGeometry(const Rows& keys) : keys_(&keys) {}
  std::vector<double> cosines(std::span<const int> from, std::span<const int> to) const override {
    std::vector<double> out;
    for (const int i : from)
      for (const int j : to) {
        const auto &a = (*keys_)[static_cast<std::size_t>(i)], &b = (*keys_)[static_cast<std::size_t>(j)];
        const double n = std::sqrt(dot(a, a)) * std::sqrt(dot(b, b));
        out.push_back(n > 0 ? dot(a, b) / n : 0.0);
      }
    return out;
  }
  std::vector<Nearest> nearest_kept(std::span<const int> gone) const override {
    std::vector<Nearest> out;
    const std::vector<int> to = slots_without(gone, static_cast<int>(keys_->size()));
    const std::vector<double> all = cosines(gone, to);
    for (std::size_t i = 0; i < gone.size(); ++i) {
      const auto row = std::span(all).subspan(i * to.size(), to.size());
      const auto best = std::ranges::max_element(row);  // the first of equal ones
      out.push_back({to[static_cast<std::size_t>(best - row.begin())], *best});
    }
    return out;
  }

  void keys(std::span<const int> slots, std::vector<double>& rows) const override {
    rows.clear();
    for (const int i : slots)
      rows.insert(rows.end(), (*keys_)[static_cast<std::size_t>(i)].begin(), (*keys_)[static_cast<std::size_t>(i)].end());
  }

  /// Something beside the keys: each row the other way round.
  std::vector<double> values() const override {
    std::vector<double> out;
    for (const auto& key : *keys_) out.insert(out.end(), key.rbegin(), key.rend());
    return out;
  }
  std::vector<double> unrotated_keys() const override {
    std::vector<double> out;
    for (const auto& key : *keys_) out.insert(out.end(), key.begin(), key.end());
    return out;
  }

  std::vector<double> value_l2() const override {
    std::vector<double> out;
    for (const auto& key : *keys_) out.push_back(1 + std::abs(key.front()));
    return out;
  }

  /// Something that differs from slot to slot: the runtime multiplies values with W_O.
  std::vector<double> value_norms() const override {
    std::vector<double> out;
    for (const auto& key : *keys_) {
      double sum = 0;
      for (const double x : key) sum += std::abs(x);
      out.push_back(sum);
    }
    return out;
  }

 private:
  const Rows* keys_;
};

/// Keys are not asked for; the norms are given.
class GivenNorms final : public KeyGeometry {
 public:
  explicit GivenNorms(std::vector<double> norms) : norms_(std::move(norms)) {}
  std::vector<double> cosines(std::span<const int>, std::span<const int>) const override { return {}; }
  std::vector<Nearest> nearest_kept(std::span<const int>) const override { return {}; }
  void keys(std::span<const int>, std::vector<double>&) const override {}
  std::vector<double> values() const override { return {}; }
  std::vector<double> unrotated_keys() const override { return {}; }
  std::vector<double> value_l2() const override { return {}; }
  std::vector<double> value_norms() const override { return norms_; }

 private:
  std::vector<double> norms_;
};

/// Queries of a prompt, one head of width `width` after the other; the rotation is none at all.
class RowQueries final : public PromptQueries {
 public:
  RowQueries(std::vector<double> rows, int width) : rows_(std::move(rows)), width_(width) {}
  std::vector<double> rows(bool) const override { return rows_; }
  std::vector<double> rotations(int, int n) const override {
    std::vector<double> none(static_cast<std::size_t>(n * width_), 0.0);
    for (int r = 0; r < n; ++r) std::fill_n(none.begin() + r * width_, width_ / 2, 1.0);
    return none;
  }

 private:
  std::vector<double> rows_;
  int width_;
};

/// softmax(z + b) over the slots.
inline std::vector<double> softmax(std::vector<double> x) {
  double top = -std::numeric_limits<double>::infinity(), sum = 0;
  for (const double v : x) top = std::max(top, v);
  for (double& v : x) sum += v = std::exp(v - top);
  for (double& v : x) v /= sum;
  return x;
}

/// Coming queries of a head, given as logits over all its tokens; values are projected by nothing.
class RowHindsight final : public Hindsight {
 public:
  RowHindsight(Hindsight::View view) : view_(std::move(view)) {}
  View look() const override { return view_; }

 private:
  Hindsight::View view_;
};

/// One (layer, KV head): slots with their keys and values.
struct TinyHead {
  SlotState slots;
  Rows k, v;

  std::vector<double> logits(const std::vector<double>& q) const {
    std::vector<double> z;
    for (const auto& key : k) z.push_back(dot(q, key) / std::sqrt(static_cast<double>(q.size())));
    return z;
  }
  std::vector<double> attention(const std::vector<double>& q, Bias bias) const {
    std::vector<double> z = logits(q);
    const std::vector<double> b = bias_of(slots, bias);
    for (std::size_t i = 0; i < b.size(); ++i) z[i] += b[i];
    return softmax(z);
  }
  std::vector<double> output(const std::vector<double>& q, Bias bias) const {
    const std::vector<double> a = attention(q, bias);
    std::vector<double> o(v.front().size(), 0.0);
    for (std::size_t i = 0; i < a.size(); ++i)
      for (std::size_t d = 0; d < o.size(); ++d) o[d] += a[i] * v[i][d];
    return o;
  }
  /// Keys and values first, merge by merge; then the host side.
  std::vector<int> apply(const StatNeeds& needs, const Plan& plan) {
    for (const Merge& m : plan.merges) {
      combine(k, m, m.key_weights, m.key_scale);
      combine(v, m, m.value_weights, 1.0);
      if (!m.value.empty()) v[static_cast<std::size_t>(m.target)] = m.value;
    }
    for (const Removal& r : plan.removals)
      for (const int t : r.spread)
        for (std::size_t d = 0; d < v.front().size(); ++d)
          v[static_cast<std::size_t>(t)][d] += v[static_cast<std::size_t>(r.slot)][d] / static_cast<double>(r.spread.size());
    std::vector<int> gone = apply_plan(slots, needs, plan);
    remove_entries(k, gone);
    remove_entries(v, gone);
    return gone;
  }

 private:
  static void combine(Rows& rows, const Merge& m, const std::vector<double>& weights, double scale) {
    if (weights.empty()) return;
    std::vector<double> sum(rows.front().size(), 0.0);
    for (std::size_t x = 0; x < m.members.size(); ++x)
      for (std::size_t d = 0; d < sum.size(); ++d) sum[d] += scale * weights[x] * rows[static_cast<std::size_t>(m.members[x])][d];
    rows[static_cast<std::size_t>(m.target)] = sum;
  }
};

/// A vector for every KV head of a model.
inline std::shared_ptr<const HeadVectors> vectors_for(const ModelConfig& model) {
  HeadVectors out{
      .path = "filters.safetensors", .n_layers = model.n_layers, .n_kv_heads = model.n_kv_heads, .width = model.head_dim, .numbers = {}};
  for (int i = 0; i < model.n_layers * model.n_kv_heads * model.head_dim; ++i) out.numbers.push_back((i * 7 % 11 - 5) / 3.0);
  return std::make_shared<const HeadVectors>(out);
}

/// Feature maps for every KV head of a model, of every base.
inline std::shared_ptr<const FeatureMapsFile> maps_for(const ModelConfig& model) {
  FeatureMaps maps{.n_layers = model.n_layers, .n_kv_heads = model.n_kv_heads, .head_dim = model.head_dim, .hidden = 3, .width = 2};
  const auto fill = [&](int rows, int columns) {
    std::vector<double> out;
    for (int i = 0; i < model.n_layers * model.n_kv_heads * rows * columns; ++i) out.push_back((i * 7 % 11 - 4) / 5.0);
    return out;
  };
  maps.query_1 = maps.key_1 = fill(maps.head_dim, maps.hidden);
  maps.query_2 = maps.key_2 = fill(maps.hidden, maps.width);
  maps.key_mixed = fill(maps.width, maps.width);
  return std::make_shared<const FeatureMapsFile>(
      FeatureMapsFile{.path = "maps.safetensors", .weights_sha256 = {}, .sets = {{"h2o", maps}, {"streaming", maps}}});
}

/// Networks or gates for every layer of a model.
inline std::shared_ptr<const HiddenScorer> scorer_for(const ModelConfig& model, bool gates) {
  const auto fill = [](int n) {
    std::vector<double> out;
    for (int i = 0; i < n; ++i) out.push_back((i * 7 % 11 - 5) / 6.0);
    return out;
  };
  const int heads = model.n_kv_heads, group = model.group(), width = 2;
  HiddenScorer out{.path = "scorer.safetensors", .n_layers = model.n_layers, .n_kv_heads = heads, .dim = model.dim, .function = {}};
  const auto n = static_cast<std::size_t>(model.n_layers);
  if (gates)
    out.function = ScorerGates{.group = group,
                               .width = width,
                               .sinks = 1,
                               .layers = {n,
                                          {.query = fill(heads * group * width * model.dim),
                                           .query_bias = fill(heads * group * width),
                                           .key = fill(heads * width * model.dim),
                                           .query_norm = fill(width),
                                           .key_norm = fill(width),
                                           .sinks = fill(heads * width),
                                           .bias = fill(heads * group)}}};
  else
    out.function = ScorerNetworks{.layers = {n, {.first = fill(heads * model.dim), .first_bias = fill(heads)}}};
  return std::make_shared<const HiddenScorer>(std::move(out));
}

/// For every share: half the heads give up less of their slots, half more.
inline std::shared_ptr<const BudgetCurves> curves_for(const ModelConfig& model) {
  BudgetCurves out{.path = "curves.safetensors", .n_layers = model.n_layers, .n_kv_heads = model.n_kv_heads, .numbers = {}};
  for (int share = 1; share <= BudgetCurves::kShares; ++share)
    for (int i = 0; i < model.n_layers * model.n_kv_heads; ++i) out.numbers.push_back(share / 100.0 * (i % 2 ? 0.9 : 1.0));
  return std::make_shared<const BudgetCurves>(out);
}

/// A number for every (layer, head) of a tiny model, for the keys of this specification that name a file; a model of its own brings only
/// the scores of query heads.
inline GivenFiles given_files(const LaneSpec& spec, const ModelConfig& model) {
  const auto table = [&model](int n_heads) {
    HeadTable out{.path = "heads.json", .kind = HeadTable::Kind::object};
    for (int l = 0; l < model.n_layers; ++l)
      for (int h = 0; h < n_heads; ++h) out.entries[std::to_string(l) + '-' + std::to_string(h)] = ((h * 7 + l * 5) % 11 + 1.5) / 2;
    return std::make_shared<const HeadTable>(out);
  };
  GivenFiles out;
  for (const NamedFile& file : files_named_by(spec)) {
    if (file.holds == FileHolds::maps)
      out.maps = maps_for(model);
    else if (file.holds == FileHolds::vectors)
      out.vectors = vectors_for(model);
    else if (file.holds == FileHolds::scorer)
      out.scorer = scorer_for(model, file.source.starts_with("its gates"));
    else if (file.holds == FileHolds::curves)
      out.curves = curves_for(model);
    else if (!file.may_lack)
      out.heads[file.key] = table(file.key == "heads" ? model.n_kv_heads : model.n_heads);
  }
  return out;
}

/// A policy of this specification for a tiny model.
inline std::unique_ptr<Policy> make_policy(const std::string& text, const ModelConfig& model, int n_prompt,
                                           PromptMode mode = PromptMode::prefill) {
  const LaneSpec spec = parse_lane_spec(text);
  return Policy::make({.spec = spec, .model = &model, .n_prompt = n_prompt, .mode = mode, .files = given_files(spec, model)});
}

/// All heads of a small model under one policy, fed with random queries, keys and values.
class TinyLane {
 public:
  TinyLane(const std::string& spec, const ModelConfig& model, int n_prompt, PromptMode mode, unsigned seed)
      : model_(model),
        random_(seed),
        policy(make_policy(spec, model, n_prompt, mode)),
        heads(static_cast<std::size_t>(model.n_layers * model.n_kv_heads)) {}

  std::vector<double> row(double scale = 1.0) {
    std::vector<double> x;
    for (int d = 0; d < model_.head_dim; ++d) x.push_back(scale * normal_(random_));
    return x;
  }

  /// A prompt of n tokens with full causal attention, gathered as the runtime would.
  void load(int n) {
    std::vector<HeadView> views;
    for (std::size_t place = 0; place < heads.size(); ++place) {
      TinyHead& head = heads[place];
      const int layer = static_cast<int>(place) / model_.n_kv_heads;
      std::vector<double> key_norm, probed, learned;
      for (int i = 0; i < n; ++i) {
        head.k.push_back(row());
        head.v.push_back(row());
        key_norm.push_back(std::sqrt(dot(head.k.back(), head.k.back())));
        probed.push_back(std::abs(head.k.back().front()));  // whatever a probe may find
        learned.push_back(head.v.back().front());           // whatever a network may say
      }
      const StatNeeds& needs = policy->needs(layer);
      HitHistory hits(std::max(1, needs.hits));
      for (int i = 0; i < n; ++i) hits.append_slot();
      double outside = 0;
      const int group = model_.group(), w = std::min(needs.prompt_rows(), n), wz = std::min(needs.z_rows, n);
      std::vector<double> sum(N(n), 0.0), sum_sq(N(n), 0.0), decayed(N(n), 0.0), rows(N(w * n), 0.0),
          z(N(wz * group * n), -std::numeric_limits<double>::infinity());
      for (int t = 0; t < n; ++t) {
        std::vector<double> abar(N(n), 0.0);
        for (int g = 0; g < group; ++g) {
          std::vector<double> visible = head.logits(row(2.0));
          visible.resize(N(t + 1));
          if (t >= n - wz) std::copy(visible.begin(), visible.end(), z.begin() + ((t - (n - wz)) * group + g) * n);
          const std::vector<double> a = softmax(visible);
          for (int i = needs.outside ? needs.outside->sinks : n; i <= t - (needs.outside ? needs.outside->recent : 0); ++i)
            outside += a[N(i)];
          for (int i = 0; i <= t; ++i) {
            double& x = abar[N(i)];
            x = needs.group == GroupReduce::max ? std::max(x, a[N(i)]) : x + a[N(i)] / (needs.group == GroupReduce::mean ? group : 1);
          }
        }
        for (int i = 0; i < n; ++i) {
          sum[N(i)] += abar[N(i)];
          sum_sq[N(i)] += abar[N(i)] * abar[N(i)];
          decayed[N(i)] = needs.lambda * decayed[N(i)] + abar[N(i)];
        }
        if (t >= n - needs.hits) hits.push(abar, 1.0 / (t + 1));
        if (t >= n - w) std::copy(abar.begin(), abar.end(), rows.begin() + (t - (n - w)) * n);
      }
      load_prompt(head.slots, needs, group,
                  {.n = n,
                   .sums = {{{.power = 1}, sum}, {{.power = 2}, sum_sq}, {{.power = 1, .decay = needs.lambda}, decayed}},
                   .last_rows = rows,
                   .last_z = z,
                   .hits = &hits,
                   .key_norm = key_norm,
                   .probed = probed,
                   .learned = learned,
                   .outside = outside / (n * group)});
      views.push_back({&head.slots, nullptr, layer, static_cast<int>(place) % model_.n_kv_heads});
    }
    policy->after_prompt(views);
    for (int l = 0; l < model_.n_layers && policy->surveys(); ++l) {
      const ShownLayer shown(*this, l, /*at_step=*/0, /*after_prompt=*/true);
      policy->survey(shown.views);
    }
    if (policy->surveys()) policy->after_survey();
    seen = n;
  }

  /// Appends a token everywhere and attends. `observe` is what the step's queries were (kept for exactness tests).
  void step() {
    queries.assign(heads.size(), {});
    for (std::size_t h = 0; h < heads.size(); ++h) {
      TinyHead& head = heads[h];
      head.k.push_back(row());
      head.v.push_back(row());
      const StatNeeds& needs = policy->needs(static_cast<int>(h) / model_.n_kv_heads);
      append_slot(head.slots, needs, model_.group(), seen, std::sqrt(dot(head.k.back(), head.k.back())));
      if (needs.learned) head.slots.learned.back() = head.v.back().front();
      std::vector<double> a, z;
      for (int g = 0; g < model_.group(); ++g) {
        queries[h].push_back(row(2.0));
        const std::vector<double> ag = head.attention(queries[h].back(), policy->bias()), zg = head.logits(queries[h].back());
        a.insert(a.end(), ag.begin(), ag.end());
        z.insert(z.end(), zg.begin(), zg.end());
      }
      observe_step(head.slots, needs, model_.group(), a, z);
    }
    ++seen;
  }

  std::vector<Plan> plan_layer(int layer, int at_step, bool after_prompt, Policy* other = nullptr) {
    const ShownLayer shown(*this, layer, at_step, after_prompt);
    return (other ? other : policy.get())->plan(shown.views, at_step, after_prompt);
  }

  /// Random numbers, one query per slot and query head.
  std::vector<double> prompt_queries(const TinyHead& head, unsigned seed) const {
    std::mt19937 random(seed);
    std::normal_distribution<double> normal;
    std::vector<double> rows(head.k.size() * N(model_.group()) * N(model_.head_dim));
    for (double& x : rows) x = 2 * normal(random);
    return rows;
  }

  /// Random queries over the head; what the full cache would answer is taken from the head as it is.
  Hindsight::View coming_queries(const TinyHead& head, int n_queries, unsigned seed) const {
    std::mt19937 random(seed);
    std::normal_distribution<double> normal;
    Hindsight::View view{
        .n_queries = n_queries, .group = model_.group(), .dim = model_.head_dim, .logits = {}, .outputs = {}, .values = {}};
    for (int x = 0; x < n_queries * model_.group(); ++x) {
      std::vector<double> q;
      for (int d = 0; d < model_.head_dim; ++d) q.push_back(2 * normal(random));
      const std::vector<double> z = head.logits(q), o = head.output(q, policy->bias());
      view.logits.insert(view.logits.end(), z.begin(), z.end());
      view.outputs.insert(view.outputs.end(), o.begin(), o.end());
    }
    for (int g = 0; g < model_.group(); ++g)
      for (const auto& v : head.v) view.values.insert(view.values.end(), v.begin(), v.end());
    return view;
  }

  /// What a policy sees of a layer.
  struct ShownLayer {
    ShownLayer(TinyLane& lane, int layer, int at_step, bool after_prompt) {
      const ModelConfig& model = lane.model_;
      asked.reserve(N(model.n_kv_heads));
      keys.reserve(N(model.n_kv_heads));
      coming.reserve(N(model.n_kv_heads));
      for (int h = 0; h < model.n_kv_heads; ++h) {
        keys.emplace_back(lane.head(layer, h).k);
        coming.emplace_back(lane.coming_queries(lane.head(layer, h), lane.policy->needs().coming_queries, static_cast<unsigned>(at_step)));
        asked.emplace_back(lane.prompt_queries(lane.head(layer, h), static_cast<unsigned>(layer)), model.head_dim);
        views.push_back({.slots = &lane.head(layer, h).slots,
                         .keys = &keys.back(),
                         .layer = layer,
                         .kv_head = h,
                         .hindsight = &coming.back(),
                         .queries = after_prompt ? &asked.back() : nullptr});
      }
    }
    std::vector<RowGeometry> keys;
    std::vector<RowHindsight> coming;
    std::vector<RowQueries> asked;
    std::vector<HeadView> views;
  };

  TinyHead& head(int layer, int kv_head) { return heads[N(layer * model_.n_kv_heads + kv_head)]; }

 private:
  static std::size_t N(int i) { return static_cast<std::size_t>(i); }

  ModelConfig model_;
  std::mt19937 random_;
  std::normal_distribution<double> normal_;

 public:
  std::unique_ptr<Policy> policy;
  std::vector<TinyHead> heads;
  std::vector<Rows> queries;  // [layer * kv_heads + kv_head][group]
  int seen = 0;               // tokens fed so far
};

inline ModelConfig tiny_model(int n_layers, int n_kv_heads, int group, int head_dim = 6) {
  ModelConfig m;
  m.name = "tiny";
  m.n_layers = n_layers;
  m.n_kv_heads = n_kv_heads;
  m.n_heads = n_kv_heads * group;
  m.head_dim = head_dim;
  m.dim = m.n_heads * head_dim;
  return m;
}

/// Slots at pos 0, 1, 2, ... without statistics.
inline SlotState slots_of(int n) {
  SlotState s;
  for (int i = 0; i < n; ++i) append_slot(s, StatNeeds{}, 1, i);
  return s;
}

}  // namespace kvscope::test
