// SPDX-License-Identifier: Apache-2.0
#include "cache/key_lookups.h"

#include <algorithm>
#include <utility>

namespace kvscope {

std::vector<Nearest> nearest(std::span<const int> to, std::span<const int> places, std::span<const double> cosines) {
  std::vector<Nearest> out;
  out.reserve(places.size());
  for (std::size_t i = 0; i < places.size(); ++i) out.push_back({to[static_cast<std::size_t>(places[i])], cosines[i]});
  return out;
}

void KeyLookups::expect_nearest(const HeadKv& kv, std::span<const int> from, std::span<const int> to) {
  nearest_.push_back({.kv = &kv, .from = {from.begin(), from.end()}, .to = {to.begin(), to.end()}, .places = {}, .cosines = {}});
}

void KeyLookups::expect_keys(const HeadKv& kv, std::span<const int> slots) {
  keys_.push_back({.kv = &kv, .slots = {slots.begin(), slots.end()}, .rows = {}});
}

std::vector<Nearest> KeyLookups::nearest(const HeadKv& kv, std::span<const int> from, std::span<const int> to) {
  const auto known = [&] {
    return std::ranges::find_if(
        nearest_, [&](const NearestOf& n) { return n.kv == &kv && std::ranges::equal(n.from, from) && std::ranges::equal(n.to, to); });
  };
  if (known() == nearest_.end()) expect_nearest(kv, from, to);
  const auto found = known();
  if (found->places.empty()) {
    std::vector<NearestJob> jobs;
    for (NearestOf& n : nearest_) {
      if (!n.places.empty()) continue;
      n.places.resize(n.from.size());
      n.cosines.resize(n.from.size());
      jobs.push_back({.kv = n.kv, .from = n.from, .to = n.to, .places = n.places, .cosines = n.cosines});
    }
    backend_.nearest(jobs);
  }
  return kvscope::nearest(to, found->places, found->cosines);
}

void KeyLookups::keys(const HeadKv& kv, std::span<const int> slots, std::vector<double>& rows) {
  const auto known = [&] {
    return std::ranges::find_if(keys_, [&](const KeysOf& k) { return k.kv == &kv && std::ranges::equal(k.slots, slots); });
  };
  if (known() == keys_.end()) expect_keys(kv, slots);
  const auto found = known();
  if (found->rows.empty()) {
    std::vector<KeyRowsJob> jobs;
    for (KeysOf& k : keys_) {
      if (!k.rows.empty()) continue;
      k.rows.resize(k.slots.size() * static_cast<std::size_t>(head_dim_));
      jobs.push_back({.kv = k.kv, .slots = k.slots, .out = k.rows});
    }
    backend_.key_rows(jobs);
  }
  rows = found->rows;
}

}  // namespace kvscope
