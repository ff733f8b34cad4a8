// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/slot_table.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>
#include <utility>

#include "backend/cuda/cache_rows.h"
#include "core/vector_math.h"
#include "slots/slot_state.h"
#include "slots/statistics/log_ema.h"
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

constexpr int kMostStarts = 1 << 16;
constexpr double kNothing = 0x1p-54;  // beside 1

/// ln(1 - alpha^n) for n = 0, 1, ... until nothing is left of it; 0 for n = 0, of a slot that was never scored.
std::vector<double> ema_starts(double alpha) {
  std::vector<double> out{0};
  for (int n = 1; std::pow(alpha, n) > kNothing; ++n) out.push_back(EmaStart(alpha).at(n));
  return out;
}

}  // namespace

bool DeviceSlotTable::can(const Setup& setup) { return setup.fate != Fate::merged || std::pow(setup.ema_alpha, kMostStarts) <= kNothing; }

DeviceSlotTable::DeviceSlotTable(std::shared_ptr<Device> device, int n_kv_heads, int group, const Setup& setup)
    : device_(std::move(device)),
      n_kv_heads_(static_cast<std::size_t>(n_kv_heads)),
      group_(group),
      statistic_(setup.statistic),
      fate_(setup.fate) {
  const auto held = device_->lock();
  make_room(setup.heads);
  int most = 0;
  for (const Head& head : setup.heads) {
    HeadKv& kv = *head.kv;
    first_row_.push_back(first_row_.empty() ? 0 : first_row_.back() + static_cast<std::size_t>(heads_.back().capacity) + 1);
    heads_.push_back({.k = kv.k.data(),
                      .v = kv.v.data(),
                      .order = kv.order_in_backend.as<int>(),
                      .n = kv.n_slots + 1,
                      .capacity = kv.capacity,
                      .first = head.first,
                      .end = head.end});
    most = std::max(most, kv.n_slots + 1);
  }
  const std::size_t of_head = round_up(device_->bytes(static_cast<std::size_t>(most) * static_cast<std::size_t>(group)), 16);
  attention_ = device_->allocate(of_head * n_kv_heads_, kWhat);
  if (fate_ == Fate::merged) logits_ = device_->allocate(of_head * n_kv_heads_, kWhat);
  displaced_ = device_->allocate(heads_.size() * sizeof(Displaced), kWhat);
  for (std::size_t i = 0; i < heads_.size(); ++i) {
    heads_[i].displaced = displaced_.as<Displaced>() + i;
    heads_[i].attention = attention_.as<std::byte>() + of_head * (i % n_kv_heads_);
    if (fate_ == Fate::merged) heads_[i].logits = logits_.as<std::byte>() + of_head * (i % n_kv_heads_);
  }
  add_by_row(&TableHead::positions, setup, setup.position, [](const SlotState& slots, std::size_t i) { return slots.pos[i]; });
  add_scores(setup);
  std::vector<double> starts;
  if (fate_ != Fate::lost) add_joins(setup);
  if (fate_ == Fate::merged) {
    add_log_scores(setup);
    starts = ema_starts(setup.ema_alpha);
  }
  buffers_.push_back(uploaded(*device_, starts));
  device_heads_ = uploaded(*device_, heads_);
  rule_ = uploaded(*device_, std::vector{TableRule{.reduce = setup.reduce,
                                                   .group = group,
                                                   .n_rows = setup.n_rows,
                                                   .fills_mass = setup.fills_mass,
                                                   .lambda = setup.params.lambda,
                                                   .vote_factor = setup.vote_factor,
                                                   .ln_keep = std::log(setup.ema_alpha),
                                                   .ln_new = std::log1p(-setup.ema_alpha),
                                                   .start = buffers_.back().as<double>(),
                                                   .n_start = static_cast<long>(starts.size())}});
}

template <class T, class OfSlot>
void DeviceSlotTable::add_by_row(T* TableHead::*to, const Setup& setup, T otherwise, const OfSlot& of_slot, int width) {
  const auto w = static_cast<std::size_t>(width);
  std::vector<T> numbers((first_row_.back() + static_cast<std::size_t>(heads_.back().capacity) + 1) * w, otherwise);
  for (std::size_t i = 0; i < heads_.size(); ++i) {
    const HeadKv& kv = *setup.heads[i].kv;
    for (int slot = 0; slot < kv.n_slots; ++slot)
      for (std::size_t g = 0; g < w; ++g)
        numbers[(first_row_[i] + static_cast<std::size_t>(kv.row(slot))) * w + g] =
            of_slot(*setup.heads[i].slots, static_cast<std::size_t>(slot) * w + g);
  }
  buffers_.push_back(uploaded(*device_, numbers));
  for (std::size_t i = 0; i < heads_.size(); ++i) heads_[i].*to = buffers_.back().as<T>() + first_row_[i] * w;
}

void DeviceSlotTable::add_scores(const Setup& setup) {
  add_by_row(&TableHead::cells, setup, 0.0, [&](const SlotState& slots, std::size_t i) {
    double cell = 0;
    for_each_statistic([&]<class S>(S) {
      if constexpr (std::is_same_v<typename S::Cell, double>)
        if (ColumnOf<S>::id == statistic_) cell = column<S>(slots)[i];
    });
    return cell;
  });
  if (statistic_) return;
  const int most = setup.n_rows, before = setup.heads.front().slots->rows.rows();  // of all heads alike
  add_by_row(&TableHead::seen, setup, before, [&](const SlotState& slots, std::size_t i) { return std::min(slots.times[i], before); });
  std::vector<double> rows;
  for (std::size_t i = 0; i < heads_.size(); ++i) {
    const Head& from = setup.heads[i];
    const auto capacity = static_cast<std::size_t>(heads_[i].capacity);
    rows.assign(capacity * static_cast<std::size_t>(most), 0.0);
    for (int r = 0; r < before; ++r)
      for (int slot = 0; slot < from.kv->n_slots; ++slot)
        rows[static_cast<std::size_t>(r) * capacity + static_cast<std::size_t>(from.kv->row(slot))] = from.slots->rows.number(r, slot, 0);
    buffers_.push_back(uploaded(*device_, rows));
    heads_[i].rows = buffers_.back().as<double>();
  }
}

void DeviceSlotTable::add_joins(const Setup& setup) {
  add_by_row(&TableHead::votes, setup, 1, [](const SlotState& slots, std::size_t i) { return slots.votes[i]; });
  add_by_row(&TableHead::bias, setup, 0.0f, [&](const SlotState& slots, std::size_t i) {
    return static_cast<float>(slot_bias(setup.vote_factor, slots.votes[i], slots.extra[i]));
  });
  std::vector<int> into, first_fusion(n_kv_heads_ + 1);
  std::vector<char> collects(first_row_.back() + static_cast<std::size_t>(heads_.back().capacity) + 1);
  for (std::size_t i = 0; i < heads_.size(); ++i)
    for (const int slot : setup.heads[i].into) {
      into.push_back(setup.heads[i].kv->row(slot));
      collects[first_row_[i] + static_cast<std::size_t>(into.back())] = 1;
    }
  for (std::size_t h = 0; h <= n_kv_heads_; ++h) first_fusion[h] = static_cast<int>(2 * h);
  into_ = uploaded(*device_, into);
  collects_ = uploaded(*device_, collects);
  first_fusion_ = uploaded(*device_, first_fusion);
  nearest_ = device_->allocate(heads_.size() * sizeof(int), kWhat);
  cosines_ = device_->allocate(heads_.size() * sizeof(double), kWhat);
  members_ = device_->allocate(2 * heads_.size() * sizeof(int), kWhat);
  weights_ = device_->allocate(2 * heads_.size() * sizeof(double), kWhat);
  std::vector<PairJob> pairs;
  std::vector<CombineStep> fusions;
  const int* next_into = into_.as<int>();
  for (std::size_t i = 0; i < heads_.size(); ++i) {
    TableHead& head = heads_[i];
    const bool any = fate_ == Fate::merged;
    head.n_into = any ? head.n - 1 : static_cast<int>(setup.heads[i].into.size());
    head.into = any ? head.order : next_into;
    next_into += setup.heads[i].into.size();
    if (!any) head.collects = collects_.as<char>() + first_row_[i];
    head.threshold = setup.heads[i].threshold;
    head.nearest = nearest_.as<int>() + i;
    head.cosine = cosines_.as<double>() + i;
    head.members = members_.as<int>() + 2 * i;
    head.weights = weights_.as<double>() + 2 * i;
    // what went is the row behind all slots by then
    pairs.push_back({.k = head.k,
                     .n = head.capacity,
                     .n_from = 1,
                     .n_to = head.n_into,
                     .from = head.order + head.n - 1,
                     .to = head.into,
                     .values = cosines_.as<double>() + i,
                     .places = nearest_.as<int>() + i,
                     .by_product = !any});
    for (void* const rows : {head.k, head.v})
      fusions.push_back({.rows = rows, .first_member = static_cast<int>(2 * i), .n_members = 2, .first_weight = static_cast<int>(2 * i)});
  }
  pairs_ = uploaded(*device_, pairs);
  fusions_ = uploaded(*device_, fusions);
  for (std::size_t i = 0; i < heads_.size(); ++i) heads_[i].fusion = fusions_.as<CombineStep>() + 2 * i;
}

void DeviceSlotTable::add_log_scores(const Setup& setup) {
  add_by_row(&TableHead::extra, setup, 0.0, [](const SlotState& slots, std::size_t i) { return slots.extra[i]; });
  add_by_row(&TableHead::times, setup, 0, [](const SlotState& slots, std::size_t i) { return slots.ema_n[i]; });
  add_by_row(
      &TableHead::lS, setup, kMinusInf, [](const SlotState& slots, std::size_t i) { return slots.ema[i]; }, group_);
  const auto width = static_cast<std::size_t>(merge_doubles(group_));
  buffers_.push_back(device_->allocate(heads_.size() * width * sizeof(double), kWhat));
  for (std::size_t i = 0; i < heads_.size(); ++i) heads_[i].merge = buffers_.back().as<double>() + i * width;
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
  const TableRule* const rule = rule_.as<TableRule>();
  Work& work = device_->work();
  if (fate_ == Fate::merged) predict_scores(work, device_->type(), on_device(layer), n_heads, rule);
  displace_lowest(work, device_->type(), on_device(layer), n_heads, statistic_, rule);
  if (fate_ != Fate::lost) {
    nearest(work, device_->type(), pairs_.as<PairJob>() + place(layer), n_heads, 1, d);
    join_displaced(work, on_device(layer), n_heads, statistic_, rule);
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
