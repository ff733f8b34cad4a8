// SPDX-License-Identifier: Apache-2.0
#include "app/share/number_table.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "snapshot/number_text.h"
#include "snapshot/step_record.h"

namespace kvscope::share {

NumberTable::NumberTable() { number(kNotAvailable); }

std::uint32_t NumberTable::place(const std::string& text, double value) {
  const auto [found, is_new] = places_.try_emplace(text, static_cast<std::uint32_t>(texts_.size()));
  if (is_new) {
    texts_.push_back(text);
    values_.push_back(value);
  }
  return found->second;
}

std::uint32_t NumberTable::number(double value) { return place(format_number(value), value); }
std::uint32_t NumberTable::percent(double value) { return place(format_percent(value), value); }

std::vector<std::uint32_t> NumberTable::sort() {
  std::vector<std::uint32_t> order(texts_.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin() + 1, order.end(),
            [&](std::uint32_t a, std::uint32_t b) { return values_[a] != values_[b] ? values_[a] < values_[b] : texts_[a] < texts_[b]; });
  std::vector<std::uint32_t> moved(order.size());
  std::vector<std::string> texts;
  std::vector<double> values;
  for (std::uint32_t i = 0; i < order.size(); ++i) {
    moved[order[i]] = i;
    texts.push_back(std::move(texts_[order[i]]));
    values.push_back(values_[order[i]]);
    places_[texts.back()] = i;
  }
  texts_ = std::move(texts);
  values_ = std::move(values);
  return moved;
}

}  // namespace kvscope::share
