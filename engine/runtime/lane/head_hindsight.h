// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "runtime/lane/lane_caches.h"
#include "runtime/lane/lane_context.h"

namespace kvscope {

/// What the coming queries of the full-cache lane see in one head of this lane at the step in work: in its cache and in its full history.
/// Buffers live as long as one look.
class HeadHindsight final : public Hindsight {
 public:
  HeadHindsight(const LaneContext& lane, const LaneCaches& caches, int layer, int kv_head)
      : lane_(lane), caches_(caches), layer_(layer), head_(kv_head) {}

  View look() const override;
  void check() const override { lane_.tape->check(); }

 private:
  void attend(const std::vector<int>& positions, View& view) const;
  /// full: outputs over the history, [queries, group, head_dim] in backend memory.
  void project_outputs(const Buffer& full, View& view) const;
  void project_values(View& view) const;
  void project(const void* x, int stride, int g, int rows, std::span<double> out) const;

  const LaneContext& lane_;
  const LaneCaches& caches_;
  int layer_, head_;
};

/// One for every KV head of a layer; none where the policy asks for no coming queries.
std::vector<std::unique_ptr<Hindsight>> hindsight(const LaneContext& lane, const LaneCaches& caches, int layer);

}  // namespace kvscope
