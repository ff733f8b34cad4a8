// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/slot_table.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "backend/cuda/cache_rows.h"
#include "slots/vote_bias.h"

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
  if (!setup.heads.front().into.empty()) add_collectors(setup);
  device_heads_ = uploaded(*device_, heads_);
  rule_ = uploaded(*device_, std::vector{TableRule{setup.reduce, group, setup.params.lambda, setup.vote_factor}});
}

void DeviceSlotTable::add_collectors(const Setup& setup) {
  fuses_ = true;
  std::vector<int> into, votes, first_fusion(n_kv_heads_ + 1), members(2 * heads_.size());
  std::vector<char> collects;
  std::vector<float> bias;
  for (const Head& head : setup.heads) {
    const std::size_t before = bias.size(), rows = static_cast<std::size_t>(head.kv->capacity);
    collects.resize(before + rows);
    bias.resize(before + rows);
    for (const int slot : head.into) {
      const int row = head.kv->row(slot), p = head.votes[static_cast<std::size_t>(slot)];
      into.push_back(row);
      votes.push_back(p);
      collects[before + static_cast<std::size_t>(row)] = 1;
      bias[before + static_cast<std::size_t>(row)] = static_cast<float>(vote_bias(setup.vote_factor, p));
    }
  }
  for (std::size_t h = 0; h <= n_kv_heads_; ++h) first_fusion[h] = static_cast<int>(2 * h);
  into_ = uploaded(*device_, into);
  collects_ = uploaded(*device_, collects);
  votes_ = uploaded(*device_, votes);
  bias_ = uploaded(*device_, bias);
  first_fusion_ = uploaded(*device_, first_fusion);
  nearest_ = device_->allocate(heads_.size() * sizeof(int), kWhat);
  products_ = device_->allocate(heads_.size() * sizeof(double), kWhat);
  members_ = device_->allocate(members.size() * sizeof(int), kWhat);
  weights_ = device_->allocate(members.size() * sizeof(double), kWhat);
  fusions_ = device_->allocate(2 * heads_.size() * sizeof(CombineStep), kWhat);
  std::vector<PairJob> pairs;
  std::vector<CombineStep> fusions;
  std::size_t row = 0, collector = 0;
  for (std::size_t i = 0; i < heads_.size(); ++i) {
    TableHead& head = heads_[i];
    head.n_into = static_cast<int>(setup.heads[i].into.size());
    head.into = into_.as<int>() + collector;
    head.collects = collects_.as<char>() + row;
    head.votes = votes_.as<int>() + collector;
    head.bias = bias_.as<float>() + row;
    head.nearest = nearest_.as<int>() + i;
    head.fusion = fusions_.as<CombineStep>() + 2 * i;
    head.members = members_.as<int>() + 2 * i;
    head.weights = weights_.as<double>() + 2 * i;
    // what went is the row behind all slots by then
    pairs.push_back({.k = head.k,
                     .n = head.capacity,
                     .n_from = 1,
                     .n_to = head.n_into,
                     .from = head.order + head.n - 1,
                     .to = head.into,
                     .values = products_.as<double>() + i,
                     .places = nearest_.as<int>() + i,
                     .by_product = true});
    for (void* const rows : {head.k, head.v})
      fusions.push_back({.rows = rows, .first_member = static_cast<int>(2 * i), .n_members = 2, .first_weight = static_cast<int>(2 * i)});
    row += static_cast<std::size_t>(head.capacity);
    collector += setup.heads[i].into.size();
  }
  pairs_ = uploaded(*device_, pairs);
  device_->upload(fusions_.data(), fusions.data(), fusions_.bytes());
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
  const int n_heads = static_cast<int>(n_kv_heads_), d = device_->head_dim();
  Work& work = device_->work();
  displace_lowest(work, device_->type(), on_device(layer), n_heads, statistic_, rule_.as<TableRule>());
  if (fuses_) {
    nearest(work, device_->type(), pairs_.as<PairJob>() + place(layer), n_heads, 1, d);
    fuse_displaced(work, on_device(layer), n_heads, statistic_, rule_.as<TableRule>());
    combine_slots(work, device_->type(), fusions_.as<CombineStep>() + 2 * place(layer), first_fusion_.as<int>(), n_heads, d,
                  members_.as<int>(), weights_.as<double>());
  }
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
