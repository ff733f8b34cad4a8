// SPDX-License-Identifier: Apache-2.0
#include "cache/stored_rows.h"

#include <cmath>
#include <functional>

namespace kvscope {
namespace {

using Rounding = std::function<void(std::span<double>)>;

double relative_error(std::span<const double> stored, std::span<const double> full) {
  double error = 0, size = 0;
  for (std::size_t i = 0; i < full.size(); ++i) {
    error += (stored[i] - full[i]) * (stored[i] - full[i]);
    size += full[i] * full[i];
  }
  return error > 0 ? std::sqrt(error / size) : 0;
}

/// Relative errors of the rows [slots] of one buffer of a cache.
std::vector<double> round_rows(Backend& backend, const HeadKv& kv, Buffer& rows, std::span<const int> slots, std::size_t width,
                               const Rounding& round) {
  const std::size_t bytes = width * size_of(backend.dtype());
  const auto place = [&](int slot) { return rows.as<std::byte>() + bytes * static_cast<std::size_t>(kv.row(slot)); };
  std::vector<double> full(slots.size() * width);
  for (std::size_t i = 0; i < slots.size(); ++i) backend.to_double(std::span(full).subspan(i * width, width), place(slots[i]));
  std::vector<double> stored = full;
  round(stored);
  std::vector<double> errors;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const std::span<const double> row = std::span(stored).subspan(i * width, width);
    backend.from_double(place(slots[i]), row);
    errors.push_back(relative_error(row, std::span(full).subspan(i * width, width)));
  }
  return errors;
}

}  // namespace

bool store_rows(Backend& backend, HeadCache& cache, const Storage& storage, const StoreSite& site, bool after_prompt) {
  const ToStore due = storage.due(cache.slots, after_prompt);
  if (due.keys.empty() && due.values.empty()) return false;
  const auto width = static_cast<std::size_t>(site.head_dim);
  const auto round_keys = [&](std::span<double> rows) { storage.round_keys(site, rows); };
  const auto round_values = [&](std::span<double> rows) { storage.round_values(site, rows); };
  const std::vector<double> of_keys = round_rows(backend, cache.kv, cache.kv.k, due.keys, width, round_keys);
  const std::vector<double> of_values = round_rows(backend, cache.kv, cache.kv.v, due.values, width, round_values);
  mark_stored(cache.slots, due, storage.block());
  for (std::size_t i = 0; i < due.keys.size(); ++i) cache.slots.stored[static_cast<std::size_t>(due.keys[i])].key_error = of_keys[i];
  for (std::size_t i = 0; i < due.values.size(); ++i)
    cache.slots.stored[static_cast<std::size_t>(due.values[i])].value_error = of_values[i];
  cache.kv.key_norms.clear();
  cache.value_norm.clear();
  cache.ever_changed = true;
  return true;
}

}  // namespace kvscope
