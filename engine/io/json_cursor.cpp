// SPDX-License-Identifier: Apache-2.0
#include "io/json_cursor.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/not_available.h"

namespace kvscope {

const std::uint32_t* JsonCursor::find(std::string_view key) const {
  if (!is_object()) return nullptr;
  std::size_t low = 0, high = value_->count;
  while (low < high) {
    const std::size_t middle = (low + high) / 2;
    const std::uint32_t* const member = &document_->places_[value_->unsigned_integer + 2 * middle];
    const std::string_view name = document_->text_of(document_->values_[*member]);
    if (name == key) return member;
    name < key ? low = middle + 1 : high = middle;
  }
  return nullptr;
}

bool JsonCursor::given(std::string_view key) const {
  const std::uint32_t* const member = find(key);
  return member != nullptr && document_->values_[member[1]].kind != Kind::null;
}

JsonCursor JsonCursor::at(std::string_view key) const {
  if (!is_object()) fail("an object");
  const std::uint32_t* const member = find(key);
  if (member == nullptr) throw Error(fmt::format("{}: the key '{}' is missing", where(), key));
  return {member[1], *this, document_->text_of(document_->values_[*member]), 0};
}

JsonCursor JsonCursor::at(std::size_t i) const {
  if (i >= size()) fail(fmt::format("at least {} elements", i + 1));
  return {place(i), *this, {}, i};
}

std::size_t JsonCursor::size(std::size_t max) const {
  if (!is_array()) fail("a list");
  if (value_->count > max) throw Error(fmt::format("{}: expected at most {} elements, got {}", where(), max, value_->count));
  return value_->count;
}

std::size_t JsonCursor::n_members() const {
  if (!is_object()) fail("an object");
  return value_->count;
}

std::string_view JsonCursor::member_name(std::size_t i) const { return document_->text_of(document_->values_[place(2 * i)]); }

JsonCursor JsonCursor::member(std::size_t i) const { return {place(2 * i + 1), *this, member_name(i), 0}; }

std::string_view JsonCursor::view(std::size_t max_bytes) const {
  if (!is_string()) fail("a text");
  if (value_->count > max_bytes)
    throw Error(fmt::format("{}: expected a text of at most {} bytes, got {}", where(), max_bytes, value_->count));
  return document_->text_of(*value_);
}

bool JsonCursor::flag() const {
  if (value_->kind != Kind::flag) fail("true or false");
  return value_->unsigned_integer != 0;
}

int JsonCursor::whole(int min, int max) const {
  const bool huge = value_->kind == Kind::unsigned_integer && value_->unsigned_integer > std::uint64_t(std::numeric_limits<int>::max());
  if (!is_whole() || huge || value_->integer < min || value_->integer > max)
    fail(min == max ? fmt::format("{}", min) : fmt::format("a whole number in {}..{}", min, max));
  return static_cast<int>(value_->integer);
}

std::uint64_t JsonCursor::unsigned_whole() const {
  if (value_->kind != Kind::unsigned_integer) fail("a whole number from 0");
  return value_->unsigned_integer;
}

double JsonCursor::real() const {
  if (value_->kind == Kind::unsigned_integer) return static_cast<double>(value_->unsigned_integer);
  if (value_->kind == Kind::integer) return static_cast<double>(value_->integer);
  if (value_->kind != Kind::real) fail("a number");
  if (!std::isfinite(value_->real)) fail("a finite number");
  if (std::abs(value_->real) > std::numeric_limits<float>::max()) fail("a number that 32 bits can hold, up to 3.4e+38");
  return value_->real;
}

double JsonCursor::real(double min, double max) const {
  if (!is_number() || !(real() >= min && real() <= max)) fail(fmt::format("a number from {} to {}", min, max));
  return real();
}

double JsonCursor::real_or_null() const { return is_null() ? kNotAvailable : real(); }

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

std::string JsonCursor::text_or(std::string_view key, std::string_view otherwise, std::size_t max_bytes) const {
  return given(key) ? at(key).text(max_bytes) : std::string(otherwise);
}

bool JsonCursor::flag_or(std::string_view key, bool otherwise) const { return given(key) ? at(key).flag() : otherwise; }

double JsonCursor::real_or(std::string_view key, double min, double max, double otherwise) const {
  return given(key) ? at(key).real(min, max) : otherwise;
}

int JsonCursor::whole_or(std::string_view key, int min, int max, int otherwise) const {
  return given(key) ? at(key).whole(min, max) : otherwise;
}

std::string JsonCursor::written() const {
  switch (value_->kind) {
    case Kind::null:
      return "null";
    case Kind::flag:
      return flag() ? "true" : "false";
    case Kind::integer:
      return nlohmann::json(value_->integer).dump();
    case Kind::unsigned_integer:
      return nlohmann::json(value_->unsigned_integer).dump();
    case Kind::real:
      return nlohmann::json(value_->real).dump();
    case Kind::text:
      return nlohmann::json(view()).dump();
    case Kind::list:
      break;
    case Kind::object:
      break;
  }
  std::string out = is_array() ? "[" : "{";
  for (std::size_t i = 0; i < value_->count; ++i) {
    if (i > 0) out += ',';
    out += is_array() ? at(i).written() : nlohmann::json(member_name(i)).dump() + ":" + member(i).written();
  }
  return out + (is_array() ? "]" : "}");
}

std::string JsonCursor::shown() const {
  if (is_object()) return "an object";
  if (is_array()) return fmt::format("a list of {}", value_->count);
  std::string out =
      is_string() ? nlohmann::json(view().substr(0, 240)).dump(-1, ' ', false, nlohmann::json::error_handler_t::ignore) : written();
  if (out.size() <= 60) return out;
  out.resize(57);
  while (!out.empty() && (static_cast<unsigned char>(out.back()) & 0xc0) == 0x80) out.pop_back();  // no half characters
  if (!out.empty() && static_cast<unsigned char>(out.back()) >= 0xc0) out.pop_back();
  return out + "...";
}

void JsonCursor::fail(std::string_view expected) const { throw Error(fmt::format("{}: expected {}, got {}", where(), expected, shown())); }

std::string JsonCursor::where() const {
  if (up_ == nullptr) return document_->name();
  const std::string above = up_->where();
  if (key_.data() == nullptr) return fmt::format("{}[{}]", above, index_);
  return above + (up_->up_ == nullptr ? ": " : ".") + std::string(key_);
}

}  // namespace kvscope
