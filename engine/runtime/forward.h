// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <span>

#include "backend/backend.h"
#include "core/cancel.h"
#include "runtime/model.h"

namespace kvscope {

/// Queries, keys and values of one layer for the rows of a batch, in backend memory. q and k are rotated to the rows' positions.
struct LayerRows {
  int layer = 0;
  int rows = 0;
  void* q = nullptr;        // [rows, n_heads, head_dim]
  const void* k = nullptr;  // [rows, n_kv_heads, head_dim]
  const void* v = nullptr;  // [rows, n_kv_heads, head_dim]
  void* out = nullptr;      // [rows, n_heads, head_dim], to be written by the site
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

  /// Runs rows (token, position) through all layers. Checks `cancel` before every layer: throws Cancelled.
  void run(std::span<const int> tokens, std::span<const int> positions, AttentionSite& site, const CancelToken& cancel,
           const LayerDone& layer_done = {});
  /// Next-token logits of row `first` and those after it of the last run, one host array [vocab_size] for each.
  void logits(int first, std::span<const std::span<double>> out);
  /// Residual stream of a row after the newest layer that is done: backend memory [dim].
  const void* residual(int row) const;
  int vocab_size() const { return model_.config().vocab_size; }

 private:
  void reserve(int rows);

  Backend& backend_;
  const Model& model_;
  int capacity_ = 0;  // rows
  Buffer x_, h_, q_, k_, v_, o_, gate_, up_, logits_;
};

}  // namespace kvscope
