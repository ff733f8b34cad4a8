// SPDX-License-Identifier: Apache-2.0
#include "cache/key_lookups.h"

#include <algorithm>
#include <mutex>
#include <utility>

namespace kvscope {

namespace {

/// The slot that a NearestJob means.
int slot_at(std::span<const int> to, int place) { return to.empty() ? place : to[static_cast<std::size_t>(place)]; }

}  // namespace

std::vector<Nearest> nearest(std::span<const int> to, std::span<const int> places, std::span<const double> cosines) {
  std::vector<Nearest> out;
  out.reserve(places.size());
  for (std::size_t i = 0; i < places.size(); ++i) out.push_back({slot_at(to, places[i]), cosines[i]});
  return out;
}

template <class Question>
Question& KeyLookups::Questions<Question>::add(Question question) {
  Question& added = all.emplace_back(std::move(question));
  of_head[added.head].push_back(&added);
  return added;
}

template <class Question>
template <class Is>
Question* KeyLookups::Questions<Question>::find(const HeadCache& head, const Is& is) const {
  const auto known = of_head.find(&head);
  if (known == of_head.end()) return nullptr;
  const auto found = std::ranges::find_if(known->second, [&](const Question* q) { return is(*q); });
  return found == known->second.end() ? nullptr : *found;
}

KeyLookups::NearestOf& KeyLookups::add_nearest(const HeadCache& head, std::span<const int> from, std::span<const int> to, By by) {
  return nearest_.add(
      {.head = &head, .by = by, .from = {from.begin(), from.end()}, .to = {to.begin(), to.end()}, .places = {}, .cosines = {}});
}

KeyLookups::KeysOf& KeyLookups::add_keys(const HeadCache& head, std::span<const int> slots) {
  return keys_.add({.head = &head, .slots = {slots.begin(), slots.end()}, .rows = {}});
}

void KeyLookups::expect_nearest(const HeadCache& head, std::span<const int> from, std::span<const int> to, By by) {
  const std::lock_guard held(mutex_);
  add_nearest(head, from, to, by);
}

void KeyLookups::expect_keys(const HeadCache& head, std::span<const int> slots) {
  const std::lock_guard held(mutex_);
  add_keys(head, slots);
}

bool KeyLookups::expects(std::span<const HeadCache> heads) {
  const std::shared_lock held(mutex_);
  return std::ranges::any_of(heads, [&](const HeadCache& h) { return nearest_.of_head.contains(&h) || keys_.of_head.contains(&h); });
}

std::vector<Nearest> KeyLookups::nearest(const HeadCache& head, std::span<const int> from, std::span<const int> to, By by) {
  const auto is_this = [&](const NearestOf& n) { return n.by == by && std::ranges::equal(n.from, from) && std::ranges::equal(n.to, to); };
  {
    const std::shared_lock held(mutex_);
    const NearestOf* const known = nearest_.find(head, is_this);
    if (known && !known->places.empty()) return kvscope::nearest(to, known->places, known->cosines);
  }
  const std::lock_guard held(mutex_);
  const NearestOf* const known = nearest_.find(head, is_this);
  const NearestOf* const found = known ? known : &add_nearest(head, from, to, by);
  if (found->places.empty()) {
    std::vector<NearestJob> jobs;
    for (NearestOf& n : nearest_.all) {
      if (!n.places.empty()) continue;
      n.places.resize(n.from.size());
      n.cosines.resize(n.from.size());
      jobs.push_back(
          {.kv = &n.head->kv, .from = n.from, .to = n.to, .places = n.places, .cosines = n.cosines, .by_product = n.by == By::product});
    }
    backend_.nearest(jobs);
  }
  return kvscope::nearest(to, found->places, found->cosines);
}

void KeyLookups::keys(const HeadCache& head, std::span<const int> slots, std::vector<double>& rows) {
  const auto is_this = [&](const KeysOf& k) { return std::ranges::equal(k.slots, slots); };
  {
    const std::shared_lock held(mutex_);
    if (const KeysOf* const known = keys_.find(head, is_this); known && !known->rows.empty()) {
      rows = known->rows;
      return;
    }
  }
  const std::lock_guard held(mutex_);
  const KeysOf* const known = keys_.find(head, is_this);
  const KeysOf* const found = known ? known : &add_keys(head, slots);
  if (found->rows.empty()) {
    std::vector<KeyRowsJob> jobs;
    for (KeysOf& k : keys_.all) {
      if (!k.rows.empty()) continue;
      k.rows.resize(k.slots.size() * static_cast<std::size_t>(head_dim_));
      jobs.push_back({.kv = &k.head->kv, .slots = k.slots, .out = k.rows});
    }
    backend_.key_rows(jobs);
  }
  rows = found->rows;
}

}  // namespace kvscope
