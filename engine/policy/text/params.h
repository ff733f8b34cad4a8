// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "policy/catalog.h"

namespace kvscope {

/// The values of one lane: defaults with what was given put over them, in the order of the catalog. Texts are checked already.
class Params {
 public:
  /// Sets the value of a key, at its place if it is known, else at the end.
  void set(std::string_view key, std::string_view value);

  bool has(std::string_view key) const { return find(key) != nullptr; }
  /// "" where the key is unknown.
  const std::string& text(std::string_view key) const;
  bool is(std::string_view key, std::string_view value) const { return text(key) == value; }
  double number(std::string_view key) const;
  /// Of the first of these keys that is known; one must be.
  double first_number(std::initializer_list<std::string_view> keys) const;
  /// A count, or a fraction of c where it has a decimal point; 0 where the key is unknown.
  int count(std::string_view key, int c) const;

  const std::vector<std::pair<std::string, std::string>>& all() const { return values_; }

 private:
  const std::string* find(std::string_view key) const;

  std::vector<std::pair<std::string, std::string>> values_;
};

/// Splits `name:key=value,...@edit...` without looking at the catalog. A value in double quotes may hold commas; it comes without the
/// quotes. Throws UsageError on a broken text or a key that comes twice.
LaneSpec split_lane_spec(std::string_view spec);
/// The text that split_lane_spec reads back to the same: values with commas in quotes.
std::string join_lane_spec(const LaneSpec& spec);

/// slots, ratio and bytes: the keys that say how large the cache of a run may be.
std::span<const ParamInfo> budget_params();

/// Words of the user as they may stand in a message: in quotes, without control characters, not longer than a line.
std::string quoted(std::string_view words);

/// Throws UsageError if the text is no value of this parameter. where: "lane 'h2o:slots=4'".
void check_value(const ParamInfo& param, std::string_view value, const std::string& where);

}  // namespace kvscope
