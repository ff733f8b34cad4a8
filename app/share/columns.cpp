// SPDX-License-Identifier: Apache-2.0
#include "app/share/columns.h"

#include <algorithm>

namespace kvscope::share {

std::uint32_t FateTable::place(const FateWords& words) {
  const auto [found, is_new] = places_.try_emplace(words, static_cast<std::uint32_t>(all_.size()));
  if (is_new) all_.push_back(words);
  return found->second;
}

void ColumnBytes::write(JsonText& json, const char* name, const Column& column) {
  const std::vector<std::uint32_t>& values = column.values;
  json.key(name).begin_object();
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  if (values.empty() || *least == *most) {
    json.member("all", values.empty() ? 0 : static_cast<int>(values.front()));
  } else {
    int n_bytes = 1;
    while (n_bytes < 4 && *most >> (8 * n_bytes) != 0) ++n_bytes;
    json.member("at", static_cast<unsigned long long>(bytes_.size()));
    json.member("bytes", n_bytes);
    json.member("n", static_cast<unsigned long long>(values.size()));
    bytes_.reserve(bytes_.size() + values.size() * static_cast<std::size_t>(n_bytes));
    for (int shift = 0; shift < 8 * n_bytes; shift += 8)
      for (const std::uint32_t value : values) bytes_ += static_cast<char>(value >> shift & 255);
  }
  json.end_object();
}

}  // namespace kvscope::share
