// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/json_document.h"

namespace kvscope {

/// A value inside a JSON document that knows where it stands, so that every complaint can say so: `file: lanes[1].steps[3].nll: expected
/// ...`. Cheap to copy down, lives no longer than its parent and the document. All getters throw Error.
class JsonCursor {
 public:
  explicit JsonCursor(const JsonDocument& document) : document_(&document), value_(&document.values_.back()) {}

  bool has(std::string_view key) const { return find(key) != nullptr; }
  /// True where the key exists and is not null.
  bool given(std::string_view key) const;
  JsonCursor at(std::string_view key) const;
  JsonCursor at(std::size_t i) const;
  /// Number of elements; throws if this is not a list, or longer than max.
  std::size_t size(std::size_t max = std::numeric_limits<int>::max()) const;
  /// Members of an object, by name; throws if this is no object. A name that is given twice counts with its last value.
  std::size_t n_members() const;
  std::string_view member_name(std::size_t i) const;
  JsonCursor member(std::size_t i) const;
  bool is_null() const { return value_->kind == Kind::null; }
  bool is_string() const { return value_->kind == Kind::text; }
  bool is_array() const { return value_->kind == Kind::list; }
  bool is_object() const { return value_->kind == Kind::object; }
  bool is_whole() const { return value_->kind == Kind::integer || value_->kind == Kind::unsigned_integer; }
  bool is_number() const { return is_whole() || value_->kind == Kind::real; }

  std::string text(std::size_t max_bytes = std::numeric_limits<std::size_t>::max()) const { return std::string(view(max_bytes)); }
  /// Lives as long as the document.
  std::string_view view(std::size_t max_bytes = std::numeric_limits<std::size_t>::max()) const;
  bool flag() const;
  int whole(int min, int max) const;
  std::uint64_t unsigned_whole() const;
  double real() const;  // finite, also as a float
  double real(double min, double max) const;
  double real_or_null() const;  // null: NaN
  std::vector<int> wholes(int min, int max) const;
  std::vector<double> reals_or_null() const;
  // The value under a key, or something else where it is not given.
  std::string text_or(std::string_view key, std::string_view otherwise,
                      std::size_t max_bytes = std::numeric_limits<std::size_t>::max()) const;
  bool flag_or(std::string_view key, bool otherwise) const;
  double real_or(std::string_view key, double min, double max, double otherwise) const;
  int whole_or(std::string_view key, int min, int max, int otherwise) const;

  /// The value as JSON.
  std::string written() const;
  /// The same for a message: in one line, short whatever the file holds.
  std::string shown() const;
  [[noreturn]] void fail(std::string_view expected) const;
  const std::string& document_name() const { return document_->name(); }
  /// Begins with the document's name.
  std::string where() const;

 private:
  using Kind = JsonDocument::Kind;

  JsonCursor(std::uint32_t place, const JsonCursor& up, std::string_view key, std::size_t index)
      : document_(up.document_), value_(&up.document_->values_[place]), up_(&up), key_(key), index_(index) {}
  const std::uint32_t* find(std::string_view key) const;  // place of the member's name, followed by that of its value
  std::uint32_t place(std::size_t i) const { return document_->places_[value_->unsigned_integer + i]; }

  const JsonDocument* document_;
  const JsonDocument::Value* value_;
  const JsonCursor* up_ = nullptr;
  std::string_view key_;  // no data: element of a list
  std::size_t index_ = 0;
};

}  // namespace kvscope
