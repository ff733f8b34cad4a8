// SPDX-License-Identifier: Apache-2.0
#include "io/head_table_file.h"

#include <cmath>
#include <utility>

#include "io/json_cursor.h"

namespace kvscope {
namespace {

constexpr JsonLimits kLimits{.bytes = std::size_t(16) << 20, .values = std::size_t(1) << 20, .once = true};

double number_of(const JsonCursor& value) { return value.is_number() ? value.real() : std::nan(""); }

/// The number itself, or the mean of a list of numbers.
double mean_of(const JsonCursor& value) {
  if (!value.is_array()) return number_of(value);
  const std::size_t n = value.size();
  double sum = 0;
  for (std::size_t i = 0; i < n; ++i) sum += number_of(value.at(i));
  return n > 0 ? sum / static_cast<double>(n) : std::nan("");
}

}  // namespace

HeadTable read_head_table(const std::string& path) {
  const JsonDocument document = JsonDocument::read(path, kLimits);
  const JsonCursor json(document);
  HeadTable out;
  out.path = path;
  if (json.is_array()) {
    out.kind = HeadTable::Kind::list;
    for (std::size_t l = 0; l < json.size(); ++l) {
      const JsonCursor row = json.at(l);
      auto& numbers = out.rows.emplace_back();
      if (!row.is_array()) continue;
      numbers.emplace();
      for (std::size_t h = 0; h < row.size(); ++h) numbers->push_back(number_of(row.at(h)));
    }
  } else if (json.is_object()) {
    out.kind = HeadTable::Kind::object;
    for (std::size_t i = 0; i < json.n_members(); ++i)
      out.entries.insert_or_assign(std::string(json.member_name(i)), mean_of(json.member(i)));
  }
  return out;
}

}  // namespace kvscope
