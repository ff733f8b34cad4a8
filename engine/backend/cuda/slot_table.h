// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "backend/cuda/device.h"
#include "backend/slot_table.h"

namespace kvscope::cuda {

/// What is known of a slot lies beside its row and stays there as that does; what moves when a slot goes is the order alone. A step costs
/// two launches for each layer, three more where slots are joined, the same ones in every step.
class DeviceSlotTable final : public SlotTable {
 public:
  /// False: the host has to keep account.
  static bool can(const Setup& setup);
  DeviceSlotTable(std::shared_ptr<Device> device, int n_kv_heads, int group, const Setup& setup);

  void append(int layer, const void* k, const void* v) override;
  KvSegment slots(int layer, int head) const override { return segment_of(heads_[place(layer) + static_cast<std::size_t>(head)]); }
  // of every head; each layer's comes to the same place
  void* attention(int head) override { return heads_[static_cast<std::size_t>(head)].attention; }
  void* logits(int head) override { return heads_[static_cast<std::size_t>(head)].logits; }
  void displace(int layer) override;
  std::vector<Displaced> displaced(int layer) override;

 private:
  static KvSegment segment_of(const TableHead& head) { return {head.k, head.v, head.n, head.order, head.bias}; }
  std::size_t place(int layer) const { return static_cast<std::size_t>(layer) * n_kv_heads_; }
  const TableHead* on_device(int layer) const { return device_heads_.as<TableHead>() + place(layer); }
  /// Room for one slot more and an order.
  void make_room(std::span<const Head> heads);
  /// `width` numbers of every row and of one more behind them: of_slot(slots, slot * width + g), where there is no slot `otherwise`.
  template <class T, class OfSlot>
  void add_by_row(T* TableHead::*to, const Setup& setup, T otherwise, const OfSlot& of_slot, int width = 1);
  // what heads_ have of scores, of slots that are joined and what the kernels are asked about them, and of slots merged by predicted mass
  void add_scores(const Setup& setup);
  void add_joins(const Setup& setup);
  void add_log_scores(const Setup& setup);

  std::shared_ptr<Device> device_;
  std::size_t n_kv_heads_;
  int group_;
  std::optional<StatId> statistic_;
  Fate fate_;
  std::vector<std::size_t> first_row_;  // of every head, in what lies by row
  std::vector<TableHead> heads_;        // pointers into what follows, and its copy on the device
  Buffer device_heads_, rule_, attention_, logits_, displaced_;
  std::vector<Buffer> buffers_;  // that only heads_ and rule_ know
  // where slots are joined
  Buffer into_, collects_, pairs_, nearest_, cosines_, fusions_, first_fusion_, members_, weights_;
};

}  // namespace kvscope::cuda
