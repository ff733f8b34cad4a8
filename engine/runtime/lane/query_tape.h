// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "backend/backend.h"
#include "core/cancel.h"

namespace kvscope {

/// Queries of the full-cache lane by position, for references that look at what comes next. The lane that writes runs ahead of those that
/// read.
class QueryTape {
 public:
  QueryTape(Backend& backend, const ModelConfig& config) : backend_(backend), config_(config) {}

  /// The text that is followed: n_prompt tokens, and n_tokens with those after the prompt. What it says about later positions is forgotten.
  void set_text(int n_prompt, int n_tokens);
  /// q: rotated query of one layer, backend memory [n_heads, head_dim].
  void put(int layer, int position, const void* q);
  /// Forgets all positions from `position` on.
  void forget_from(int position);
  bool knows(int first, int last) const;
  /// Of the work that reads it from now on; outlives that.
  void set_cancel(const CancelToken& cancel) { cancel_ = &cancel; }
  /// Throws Cancelled.
  void check() const {
    if (cancel_) cancel_->check();
  }

  int n_tokens() const { return n_tokens_; }
  /// Positions whose queries a decision after the step at `position` looks at: the next `horizon` of the text, fewer at its end; at the
  /// very end the last `horizon` of the prompt.
  std::vector<int> coming(int position, int horizon) const;
  /// [n_heads, head_dim], rotated to its position.
  const void* query(int layer, int position) const;

 private:
  std::size_t layer_bytes() const { return size_of(backend_.dtype()) * static_cast<std::size_t>(config_.q_dim()); }

  Backend& backend_;
  const ModelConfig& config_;
  const CancelToken* cancel_ = nullptr;
  int n_prompt_ = 0, n_tokens_ = 0;
  std::vector<Buffer> rows_;  // [position] -> [n_layers, n_heads, head_dim]; empty: not known
};

}  // namespace kvscope
