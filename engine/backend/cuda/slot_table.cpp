// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/slot_table.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "backend/cuda/cache_rows.h"

namespace kvscope::cuda {

namespace {

constexpr const char* kWhat = "statistics of a KV cache";

template <class T>
Buffer uploaded(Device& device, const std::vector<T>& values) {
  Buffer out = device.allocate(values.size() * sizeof(T), kWhat);
  device.upload(out.data(), values.data(), out.bytes());
  return out;
}

}  // namespace

DeviceSlotTable::DeviceSlotTable(std::shared_ptr<Device> device, int n_kv_heads, int group, const Setup& setup)
    : device_(std::move(device)), n_kv_heads_(static_cast<std::size_t>(n_kv_heads)), statistic_(setup.statistic) {
  const auto held = device_->lock();
  make_room(setup.heads);
  std::size_t n_rows = 0;
  for (const Head& head : setup.heads) n_rows += static_cast<std::size_t>(head.kv->capacity);
  std::vector<double> cells(n_rows);
  std::vector<int> positions(n_rows + setup.heads.size());  // and behind each head's what the next one is
  std::size_t row = 0, most_rows = 0;
  for (std::size_t i = 0; i < setup.heads.size(); ++i) {
    const Head& head = setup.heads[i];
    HeadKv& kv = *head.kv;
    for (int slot = 0; slot < kv.n_slots; ++slot) {
      const auto at = row + static_cast<std::size_t>(kv.row(slot));
      cells[at] = head.cells[static_cast<std::size_t>(slot)];
      positions[at + i] = head.pos[static_cast<std::size_t>(slot)];
    }
    heads_.push_back({.k = kv.k.data(),
                      .v = kv.v.data(),
                      .order = kv.order_in_backend.as<int>(),
                      .n = kv.n_slots + 1,
                      .capacity = kv.capacity,
                      .first = head.first,
                      .end = head.end});
    most_rows = std::max(most_rows, static_cast<std::size_t>(kv.n_slots + 1));
    row += static_cast<std::size_t>(kv.capacity);
    positions[row + i] = setup.position;
  }
  cells_ = uploaded(*device_, cells);
  positions_ = uploaded(*device_, positions);
  displaced_ = device_->allocate(heads_.size() * sizeof(Displaced), kWhat);
  const std::size_t of_head = round_up(device_->bytes(most_rows * static_cast<std::size_t>(group)), 16);
  attention_ = device_->allocate(of_head * n_kv_heads_, kWhat);
  for (std::size_t h = 0; h < n_kv_heads_; ++h) attention_of_.push_back(attention_.as<std::byte>() + of_head * h);
  row = 0;
  for (std::size_t i = 0; i < heads_.size(); ++i) {
    TableHead& head = heads_[i];
    head.cells = cells_.as<double>() + row;
    head.positions = positions_.as<int>() + row + i;
    head.attention = attention_of_[i % n_kv_heads_];
    head.displaced = displaced_.as<Displaced>() + i;
    row += static_cast<std::size_t>(head.capacity);
  }
  device_heads_ = uploaded(*device_, heads_);
  rule_ = uploaded(*device_, std::vector{TableRule{setup.reduce, group, setup.params.lambda}});
}

void DeviceSlotTable::make_room(std::span<const Head> heads) {
  std::vector<HeadKv*> caches;
  for (const Head& head : heads) {
    HeadKv& kv = *head.kv;
    if (kv.n_slots + 1 > kv.capacity) kv = copy_kv(*device_, kv, kv.n_slots + 1);
    caches.push_back(&kv);
  }
  give_order(*device_, caches);
}

void DeviceSlotTable::append(int layer, const void* k, const void* v) {
  const auto held = device_->lock();
  device_->flush();
  append_to_table(device_->work(), on_device(layer), static_cast<int>(n_kv_heads_), static_cast<int>(device_->row_bytes()), k, v);
}

void DeviceSlotTable::displace(int layer) {
  const auto held = device_->lock();
  device_->flush();
  device_->writes(displaced_.as<Displaced>() + place(layer), n_kv_heads_ * sizeof(Displaced));
  displace_lowest(device_->work(), device_->type(), on_device(layer), static_cast<int>(n_kv_heads_), statistic_, rule_.as<TableRule>());
  if (place(layer + 1) == heads_.size()) device_->bring({{displaced_.data(), displaced_.bytes()}});
}

std::vector<Displaced> DeviceSlotTable::displaced(int layer) {
  std::vector<Displaced> out(n_kv_heads_);
  const std::size_t bytes = n_kv_heads_ * sizeof(Displaced);
  const Displaced* const from = displaced_.as<Displaced>() + place(layer);
  if (const std::byte* const there = device_->brought(from, bytes)) {
    std::memcpy(out.data(), there, bytes);
  } else {
    const auto held = device_->lock();
    device_->download(out.data(), from, bytes);
  }
  return out;
}

}  // namespace kvscope::cuda
