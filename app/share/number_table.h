// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace kvscope::share {

/// The numbers of a page, each once, as the text that people read (engine/snapshot/number_text.h writes it) and the value that is drawn.
/// Place 0 is "n/a". A page holds places: so every number on it has the digits that the window shows, and what is alike is written once.
class NumberTable {
 public:
  NumberTable();

  /// Place of a number; `text` says all that is shown of it.
  std::uint32_t place(const std::string& text, double value);
  std::uint32_t number(double value);   // format_number
  std::uint32_t percent(double value);  // format_percent

  /// Ascending values, n/a first: neighbours in a page's columns are then alike. Result: the new place of every old one.
  std::vector<std::uint32_t> sort();

  const std::vector<std::string>& texts() const { return texts_; }
  const std::vector<double>& values() const { return values_; }

 private:
  std::unordered_map<std::string, std::uint32_t> places_;
  std::vector<std::string> texts_;
  std::vector<double> values_;
};

}  // namespace kvscope::share
