// SPDX-License-Identifier: Apache-2.0
#include "trace/json_cursor.h"

#include <cmath>

#include <fmt/core.h>

#include "core/error.h"

namespace kvscope {

JsonCursor JsonCursor::at(const char* key) const {
  if (!value_->is_object()) fail("an object");
  const auto found = value_->find(key);
  if (found == value_->end()) throw Error(fmt::format("{}: the key '{}' is missing", where(), key));
  return {*found, *this, key, 0};
}

JsonCursor JsonCursor::at(std::size_t i) const {
  if (i >= size()) fail(fmt::format("at least {} elements", i + 1));
  return {(*value_)[i], *this, nullptr, i};
}

std::size_t JsonCursor::size(std::size_t max) const {
  if (!value_->is_array()) fail("a list");
  if (value_->size() > max) throw Error(fmt::format("{}: expected at most {} elements, got {}", where(), max, value_->size()));
  return value_->size();
}

const std::string& JsonCursor::text() const {
  if (!value_->is_string()) fail("a text");
  return value_->get_ref<const std::string&>();
}

bool JsonCursor::flag() const {
  if (!value_->is_boolean()) fail("true or false");
  return value_->get<bool>();
}

int JsonCursor::whole(int min, int max) const {
  if (value_->is_number_integer()) {
    const bool huge = value_->is_number_unsigned() && value_->get<std::uint64_t>() > std::uint64_t(std::numeric_limits<int>::max());
    const std::int64_t v = huge ? std::numeric_limits<std::int64_t>::max() : value_->get<std::int64_t>();
    if (v >= min && v <= max) return static_cast<int>(v);
  }
  fail(fmt::format("a whole number in {}..{}", min, max));
}

std::uint64_t JsonCursor::unsigned_whole() const {
  if (!value_->is_number_unsigned()) fail("a whole number from 0");
  return value_->get<std::uint64_t>();
}

double JsonCursor::real() const {
  if (!value_->is_number()) fail("a number");
  const double v = value_->get<double>();
  if (!std::isfinite(v)) fail("a finite number");
  return v;
}

double JsonCursor::real_or_null() const { return value_->is_null() ? std::numeric_limits<double>::quiet_NaN() : real(); }

std::vector<int> JsonCursor::wholes(int min, int max) const {
  std::vector<int> out(size());
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = at(i).whole(min, max);
  return out;
}

std::vector<double> JsonCursor::reals_or_null() const {
  std::vector<double> out(size());
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = at(i).real_or_null();
  return out;
}

void JsonCursor::fail(std::string_view expected) const {
  std::string got = value_->is_object()  ? "an object"
                    : value_->is_array() ? fmt::format("a list of {}", value_->size())
                                         : value_->dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  if (got.size() > 60) got = got.substr(0, 57) + "...";
  throw Error(fmt::format("{}: expected {}, got {}", where(), expected, got));
}

std::string JsonCursor::where() const {
  if (up_ == nullptr) return *name_;
  const std::string above = up_->where();
  if (key_ == nullptr) return fmt::format("{}[{}]", above, index_);
  return above + (up_->up_ == nullptr ? ": " : ".") + key_;
}

}  // namespace kvscope
