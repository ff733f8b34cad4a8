// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace kvscope {

/// A value inside a JSON document that knows where it stands, so that every complaint can say so: `file: lanes[1].steps[3].nll: expected
/// ...`. Cheap to copy down, lives no longer than its parent and the document. All getters throw Error.
class JsonCursor {
 public:
  JsonCursor(const nlohmann::json& root, const std::string& name) : value_(&root), name_(&name) {}

  bool has(const char* key) const { return value_->is_object() && value_->contains(key); }
  /// True where the key exists and is not null.
  bool given(const char* key) const { return has(key) && !(*value_)[key].is_null(); }
  JsonCursor at(const char* key) const;
  JsonCursor at(std::size_t i) const;
  /// Number of elements; throws if this is not an array, or longer than max.
  std::size_t size(std::size_t max = std::numeric_limits<int>::max()) const;
  bool is_null() const { return value_->is_null(); }
  bool is_string() const { return value_->is_string(); }
  bool is_array() const { return value_->is_array(); }
  const nlohmann::json& raw() const { return *value_; }

  const std::string& text() const;
  bool flag() const;
  int whole(int min, int max) const;
  std::uint64_t unsigned_whole() const;
  double real() const;
  double real_or_null() const;  // null: NaN
  std::vector<int> wholes(int min, int max) const;
  std::vector<double> reals_or_null() const;

  [[noreturn]] void fail(std::string_view expected) const;
  std::string where() const;

 private:
  JsonCursor(const nlohmann::json& value, const JsonCursor& up, const char* key, std::size_t index)
      : value_(&value), name_(up.name_), up_(&up), key_(key), index_(index) {}

  const nlohmann::json* value_;
  const std::string* name_;
  const JsonCursor* up_ = nullptr;
  const char* key_ = nullptr;  // nullptr: element of an array
  std::size_t index_ = 0;
};

}  // namespace kvscope
