// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "backend/backend.h"
#include "core/cancel.h"
#include "runtime/model/model.h"

namespace kvscope {

/// Queries, keys and values of one layer for the rows of a batch, in backend memory. q and k are rotated to the rows' positions. The memory
/// is used again for the next layer, or, where the rows of all layers are kept, in the next run.
struct LayerRows {
  int layer = 0;
  int rows = 0;
  const void* in = nullptr;  // [rows, dim] what q, k and v were projected from: the residual stream after the layer's norm, if it has one
  void* q = nullptr;         // [rows, n_heads, head_dim]
  const void* k = nullptr;   // [rows, n_kv_heads, head_dim]
  const void* v = nullptr;   // [rows, n_kv_heads, head_dim]
  void* out = nullptr;       // [rows, n_heads, head_dim], to be written by the site
};

/// What surrounds the attention of one layer: caches, statistics, policies. The forward pass itself knows none of them.
class AttentionSite {
 public:
  virtual ~AttentionSite() = default;
  /// Before attend(): q and k as projected, not rotated yet; `out` is not to be written.
  virtual void before_rotation(const LayerRows&) {}
  virtual void attend(const LayerRows& rows) = 0;
};

/// The ONE forward pass of kvscope, for prompts and steps, every lane and every backend. Keeps its activation buffers between calls.
class Forward {
 public:
  Forward(Backend& backend, const Model& model) : backend_(backend), model_(model) {}

  using LayerDone = std::function<void(int layer)>;

  enum class Keep { newest_layer, all_layers };
  /// Runs rows (token, position) through all layers. Checks `cancel` before every layer: throws Cancelled. keep: how long LayerRows last.
  void run(std::span<const int> tokens, std::span<const int> positions, AttentionSite& site, const CancelToken& cancel,
           const LayerDone& layer_done = {}, Keep keep = Keep::newest_layer);
  /// Tokens of the prompt that the rows to come belong to: some models rotate long texts otherwise.
  void set_prompt_length(int n_prompt) { n_prompt_ = n_prompt; }
  /// Makes the next-token logits of row `first` and the n - 1 after it of the last run; logits() brings them: a host array [vocab_size] for
  /// each.
  void project(int first, int n);
  void logits(std::span<const std::span<double>> out);
  /// Logits [vocab_size] of a residual row that residual() gave after the last layer, from host memory. Overwrites the rows of the last
  /// run.
  void logits_of(std::span<const std::byte> residual_row, std::span<double> out);
  /// Residual stream of a row after the newest layer that is done: backend memory [dim].
  const void* residual(int row) const;
  int vocab_size() const { return model_.config().vocab_size; }

 private:
  void reserve(int rows, int layers);
  /// Queries, keys and values of x_ as the layer's attention wants them, but for the rotation. Returns LayerRows::in.
  const void* project_heads(int layer, int rows, void* q, void* k, void* v);
  void feed_forward(const LayerWeights& w, int rows);
  /// x_ += what a half of a layer leaves: y [rows, w.in] w^T, its bias and its norm.
  void add_to_residual(const void* y, const Weight& w, const Weight& bias, const Weight& norm, int rows);
  /// y = x w^T + bias
  void linear(const void* x, const Weight& w, const Weight& bias, int rows, void* y);

  Backend& backend_;
  const Model& model_;
  int capacity_ = 0;  // rows
  int layers_ = 0;    // of q_, k_, v_, o_
  int n_prompt_ = 1;
  Buffer x_, h_, q_, k_, v_, o_, gate_, up_, logits_;
};

}  // namespace kvscope
