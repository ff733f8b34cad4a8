// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "cache/history.h"
#include "policy/head_view.h"
#include "runtime/forward.h"
#include "slots/slot_updates.h"

namespace kvscope {

/// What the lanes of a run want to know about the prompt's attention matrix, together.
struct PromptNeeds {
  struct Columns {
    std::vector<PromptSum> sums;  // over all rows, ascending
    int rows = 0;                 // last rows of abar
    int hits = 0;                 // last rows of which hits are counted
    int last_rows() const { return std::max(rows, hits); }
    bool covers_sums(const Columns& other) const;
    bool operator==(const Columns&) const = default;
  };
  std::array<Columns, 3> columns;  // by GroupReduce
  int z_rows = 0;                  // last rows of z, per query head
  static constexpr int kAllQueries = 1 << 30;
  int queries = 0;  // last queries
  bool key_norm = false;
  bool value_norms = false;  // after W_O, per query head
  std::vector<StatNeeds::Outside> outside;
  std::vector<std::shared_ptr<const HiddenScorer>> scorers;
  std::vector<StatNeeds::Probe> probes;  // which come after the prompt (ProbeRun): nothing of it is run again for them

  void add(const StatNeeds& needs);
  bool covers(const PromptNeeds& other) const;
  /// What is summed over all rows, or kept of all tokens: an edit in the text does not have to go back for it.
  bool covers_sums(const PromptNeeds& other) const;
  /// What is of the last rows alone becomes what the other one wants.
  void take_last_rows(const PromptNeeds& other);
  /// Bytes of the last rows and of the queries of a prompt of n tokens, which stay until another one is read: as many numbers as the text
  /// is long, of each. What is summed over rows is little beside them.
  double bytes_of_rows(const ModelConfig& config, DType dtype, int n) const;
};

/// Prefill mode: the whole prompt with full causal attention, computed once for all lanes, in pieces as large as the backend
/// does best. Keeps what is needed to go on from some of their ends, so that an edit in the middle runs little but what follows it.
class PromptRun {
 public:
  PromptRun(Backend& backend, const Model& model);

  /// Brings the run to `tokens` with statistics for `needs`. Returns the number of tokens that had to be run.
  /// If it throws (Cancelled), finished chunks stay.
  int update(std::span<const int> tokens, const PromptNeeds& needs, Forward& forward, const CancelToken& cancel,
             const Forward::LayerDone& layer_done);

  /// Whether last_query(), last_output() and last_attention() are wanted of every chunk as it leaves a layer, not only of the last one.
  void watch(bool on) { watched_ = on; }

  /// What update() gathers of one layer, from queries, keys and values that are there already: as if their tokens had been a prompt. Only
  /// stats() of this layer may be asked for afterwards. queries: rotated, one [n_heads, head_dim] in backend memory per token of `history`.
  /// needs.key_norm, scorers, value_norms and queries must be off.
  void replay(int layer, const History& history, std::span<const std::shared_ptr<const Buffer>> queries, const PromptNeeds& needs);

  int size() const { return static_cast<int>(tokens_.size()); }
  int group() const { return config_.group(); }  // query heads per KV head
  /// While update() is under way: tokens that are through all layers, and those with them that come next.
  int n_done() const { return done_; }
  int n_in_work() const { return in_work_; }
  const std::vector<int>& tokens() const { return tokens_; }
  const PromptNeeds& needs() const { return needs_; }
  const History& history(int layer) const { return layers_[layer].history; }
  const std::vector<double>& logits() const { return logits_; }  // [vocab_size], of the last token

  /// Statistics of one head for a policy. Valid until the next update().
  PromptStats stats(int layer, int kv_head, const StatNeeds& needs) const;
  /// Rotated query at one of the last needs().queries positions: backend memory [n_heads, head_dim].
  const void* query(int layer, int position) const;
  /// Last query of the prompt, or of a watched one in a layer that layer_done was told of the last that is in work, rotated: backend memory
  /// [n_heads, head_dim]; its output; its attention [n_heads, n] in host doubles.
  void* last_query(int layer) { return layers_[layer].last_q.data(); }
  const void* last_output(int layer) const { return layers_[layer].last_o.data(); }
  std::span<const double> last_attention(int layer) const { return layers_[layer].last_attention; }
  /// Where needs().value_norms: ||v_i W_O^(g)||_1 of every token and query head, [n, n_heads].
  const std::vector<double>& value_norms(int layer) const { return layers_[layer].value_norms; }

 private:
  struct Columns {                          // of all heads of a layer
    std::vector<std::vector<double>> sums;  // as needs.columns lists them: [n_kv_heads, n]
    std::vector<std::vector<double>> rows;  // [n_kv_heads][w, n], the last w rows of the prompt
    std::vector<HitHistory> hits;           // [n_kv_heads], of the last rows
  };
  struct Head {
    std::vector<double> z;                     // [z_rows, group, n]
    std::vector<double> key_norm;              // [n]
    std::vector<std::vector<double>> learned;  // as needs.scorers lists them, [n]
  };
  struct Layer {
    explicit Layer(History h) : history(std::move(h)) {}
    History history;
    std::array<Columns, 3> by_reduce;
    std::vector<std::vector<double>> outside;  // as needs.outside lists them: [n_kv_heads], sums over queries and group
    std::vector<Head> heads;
    Buffer last_q, last_o;
    Buffer queries;                      // [min(needs.queries, n), n_heads, head_dim], the last of the prompt
    std::vector<double> last_attention;  // [n_heads, n]
    std::vector<double> value_norms;     // [n, n_heads]
  };
  class Site;

  /// has_queries: Layer::queries begins with those of the first n tokens, and they stay.
  void restart_at(int n, int n_total, bool has_queries);
  /// Arrays of one layer for n_total tokens, those of the sums zero.
  void clear(Layer& layer, int n_total);
  /// body(array [n_kv_heads, size() of the prompt]) for all sums over columns.
  template <class Body>
  static void for_each_sum(Layer& layer, const Body& body);
  /// Keeps a layer's sums over columns, which have come to n tokens, to begin again from. Layers in order.
  void save_sums(Layer& layer, int n);
  void load_sums(const std::vector<double>& saved, int n_saved, int n_total);

  Backend& backend_;
  const Model& model_;
  const ModelConfig& config_;
  PromptNeeds needs_;
  std::vector<int> tokens_;
  int done_ = 0;  // tokens whose rows are in the sums and histories
  int in_work_ = 0;
  bool watched_ = false;
  std::vector<Layer> layers_;
  std::map<int, std::vector<double>> saved_;  // sums after so many tokens: over columns of all layers, then those outside
  std::vector<double> saving_;                // those of the chunk in work
  bool saves_ = false;                        // it ends where one can begin again
  std::vector<double> logits_;
  Buffer probabilities_, z_;
  std::vector<double> host_;
  std::vector<std::uint64_t> hits_[2];  // of a chunk in a layer, and in the one before it: they may come late
};

}  // namespace kvscope
