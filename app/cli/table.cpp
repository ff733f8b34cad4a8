// SPDX-License-Identifier: Apache-2.0
#include "app/cli/table.h"

#include <algorithm>

namespace kvscope::cli {

namespace {

std::size_t width(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

}  // namespace

void Columns::measure(const std::vector<std::string>& row) {
  widths_.resize(std::max(widths_.size(), row.size()));
  for (std::size_t c = 0; c < row.size(); ++c) widths_[c] = std::max(widths_[c], width(row[c]));
}

std::string Columns::line(const std::vector<std::string>& row) const {
  std::string line;
  for (std::size_t c = 0; c < row.size(); ++c) {
    const std::string pad(widths_[c] - width(row[c]), ' ');
    line += (c > 0 ? "  " : "") + (c < n_text_ ? row[c] + pad : pad + row[c]);
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

std::string aligned(const std::vector<std::vector<std::string>>& rows, std::size_t n_text) {
  Columns columns(n_text);
  for (const auto& row : rows) columns.measure(row);
  std::string out;
  for (const auto& row : rows) out += columns.line(row);
  return out;
}

}  // namespace kvscope::cli
