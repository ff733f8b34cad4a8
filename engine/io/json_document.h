// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kvscope {

/// What a file may ask of us before it is refused. Depth is the same for all: no file that we read needs more.
struct JsonLimits {
  std::size_t bytes;   // of the text
  std::size_t values;  // numbers, texts, lists, objects, names of members
  bool once = false;   // a name that is given twice in an object is an error, as in files that people write; else the last one counts
};
inline constexpr int kMaxJsonDepth = 64;
/// Settings, indices, sessions, heads, ids: 2^22 values, some 80 MB however they are put.
inline constexpr JsonLimits kJsonLimits{std::size_t(64) << 20, std::size_t(1) << 22};

/// A JSON text as one flat table, filled event by event: a value takes 16 bytes, 4 more in its list, and texts their bytes. Nothing is
/// built for what exceeds a limit, and nothing of it is recursive or can fail when it goes. JsonCursor reads it. Move-only.
class JsonDocument {
 public:
  /// `name` is for messages. Throws Error: not JSON (at which byte), or over a limit (which).
  static JsonDocument parse(std::string_view text, const std::string& name, const JsonLimits& limits = kJsonLimits);
  /// Of a regular file.
  static JsonDocument read(const std::string& path, const JsonLimits& limits = kJsonLimits);

  JsonDocument(JsonDocument&&) = default;
  JsonDocument& operator=(JsonDocument&&) = default;

  const std::string& name() const { return name_; }

 private:
  friend class JsonCursor;
  friend class JsonTable;

  enum class Kind : std::uint8_t { null, flag, integer, unsigned_integer, real, text, list, object };
  struct Value {
    Kind kind = Kind::null;
    std::uint32_t count = 0;  // bytes of a text, elements, members
    union {
      std::uint64_t unsigned_integer = 0;  // also: flag, where a text begins, where places begin
      std::int64_t integer;
      double real;
    };
  };

  JsonDocument() = default;
  std::string_view text_of(const Value& value) const { return std::string_view(texts_).substr(value.unsigned_integer, value.count); }

  std::string name_;
  std::vector<Value> values_;          // the last one is the root
  std::vector<std::uint32_t> places_;  // of elements; of members by name: name, value, name, value, ...
  std::string texts_;
};

}  // namespace kvscope
