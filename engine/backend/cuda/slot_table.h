// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "backend/cuda/device.h"
#include "backend/slot_table.h"

namespace kvscope::cuda {

/// The statistic of a slot lies beside its row and stays there as that does; what moves when a slot goes is the order alone. A step costs
/// two launches for each layer, the same ones in every step.
class DeviceSlotTable final : public SlotTable {
 public:
  DeviceSlotTable(std::shared_ptr<Device> device, int n_kv_heads, int group, const Setup& setup);

  void append(int layer, const void* k, const void* v) override;
  KvSegment slots(int layer, int head) const override { return segment_of(heads_[place(layer) + static_cast<std::size_t>(head)]); }
  void* attention(int head) override { return attention_of_[static_cast<std::size_t>(head)]; }
  void displace(int layer) override;
  std::vector<Displaced> displaced(int layer) override;

 private:
  static KvSegment segment_of(const TableHead& head) { return {head.k, head.v, head.n, head.order, head.bias}; }
  std::size_t place(int layer) const { return static_cast<std::size_t>(layer) * n_kv_heads_; }
  const TableHead* on_device(int layer) const { return device_heads_.as<TableHead>() + place(layer); }
  /// Room for one slot more and an order.
  void make_room(std::span<const Head> heads);
  /// What heads_ have of slots that collect, and what the kernels are asked about them.
  void add_collectors(const Setup& setup);

  std::shared_ptr<Device> device_;
  std::size_t n_kv_heads_;
  StatId statistic_;
  std::vector<TableHead> heads_;     // pointers into what follows, and its copy on the device
  std::vector<void*> attention_of_;  // of every head; each layer's comes to the same place
  Buffer device_heads_, rule_, cells_, positions_, attention_, displaced_;
  // where slots collect what goes
  bool fuses_ = false;
  Buffer into_, collects_, votes_, bias_, pairs_, nearest_, products_, fusions_, first_fusion_, members_, weights_;
};

}  // namespace kvscope::cuda
