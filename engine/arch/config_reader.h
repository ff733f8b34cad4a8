// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace kvscope {

/// Keys of a config.json, each checked against its kind and range. Every message names file, key, what was expected and what is there.
/// A key that is absent or null counts as not given.
class ConfigReader {
 public:
  /// Keeps references. Throws Error if json is no object. `inside`: key of the enclosing object, for messages.
  ConfigReader(const nlohmann::json& json, const std::string& path, std::string inside = "");

  bool has(const char* key) const;
  /// Whole number in [low, high].
  int whole(const char* key, int low, int high) const;
  int whole_or(const char* key, int low, int high, int fallback) const { return has(key) ? whole(key, low, high) : fallback; }
  /// Finite number in [low, high].
  double number(const char* key, double low, double high) const;
  double number_or(const char* key, double low, double high, double fallback) const { return has(key) ? number(key, low, high) : fallback; }
  bool flag_or(const char* key, bool fallback) const;
  std::string text(const char* key) const;
  std::string text_or(const char* key, const std::string& fallback) const { return has(key) ? text(key) : fallback; }
  /// The object under the key; nullopt if not given.
  std::optional<ConfigReader> object(const char* key) const;
  /// A token id; of a list of ids the first. nullopt if not given.
  std::optional<int> token_id(const char* key, int vocab_size) const;
  /// True if the key is there and null.
  bool is_null(const char* key) const;

  /// Throws Error: "PATH: KEY: what".
  [[noreturn]] void fail(const std::string& key, const std::string& what) const;

 private:
  const nlohmann::json& value(const char* key) const;

  const nlohmann::json& json_;
  const std::string& path_;
  std::string inside_;
};

}  // namespace kvscope
