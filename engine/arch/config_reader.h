// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "io/json_cursor.h"

namespace kvscope {

/// Keys of a config.json, each checked against its kind and range. Every message names file, key, what was expected and what is there.
/// A key that is absent or null counts as not given.
class ConfigReader {
 public:
  /// Of the document, which must outlive it. Throws Error if it is no object.
  explicit ConfigReader(const JsonDocument& document);

  bool has(const char* key) const { return json_.given(key); }
  /// Whole number in [low, high].
  int whole(const char* key, int low, int high) const;
  int whole_or(const char* key, int low, int high, int fallback) const { return has(key) ? whole(key, low, high) : fallback; }
  /// Finite number in [low, high].
  double number(const char* key, double low, double high) const;
  double number_or(const char* key, double low, double high, double fallback) const { return has(key) ? number(key, low, high) : fallback; }
  bool flag_or(const char* key, bool fallback) const { return json_.flag_or(key, fallback); }
  std::string text(const char* key) const;
  std::string text_or(const char* key, const std::string& fallback) const { return has(key) ? text(key) : fallback; }
  /// The object under the key, which lives no longer than this one; nullopt if not given.
  std::optional<ConfigReader> object(const char* key) const;
  /// A list of `size` numbers in [low, high], or of words.
  std::vector<double> numbers(const char* key, std::size_t size, double low, double high) const;
  std::vector<std::string> texts(const char* key, std::size_t size) const;
  /// A token id; of a list of ids the first. nullopt if not given.
  std::optional<int> token_id(const char* key, int vocab_size) const;
  /// True if the key is there and null.
  bool is_null(const char* key) const { return json_.has(key) && !json_.given(key); }

  /// Throws Error: "PATH: KEY: what".
  [[noreturn]] void fail(const std::string& key, const std::string& what) const;

 private:
  explicit ConfigReader(const JsonCursor& json);
  JsonCursor value(const char* key) const;
  JsonCursor list(const char* key, std::size_t size) const;

  JsonCursor json_;
};

}  // namespace kvscope
