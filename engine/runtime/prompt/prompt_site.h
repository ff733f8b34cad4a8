// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/prompt/prompt_run.h"

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

}  // namespace kvscope
