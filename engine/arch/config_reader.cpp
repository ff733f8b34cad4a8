// SPDX-License-Identifier: Apache-2.0
#include "arch/config_reader.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <utility>

#include "core/error.h"
#include "io/quote_name.h"

namespace kvscope {
namespace {

/// A value for a message: short whatever the file holds.
std::string shown(const nlohmann::json& value) {
  if (value.is_object()) return "an object";
  if (value.is_array()) return "a list";
  if (value.is_string()) return quote_name(value.get_ref<const std::string&>());
  return value.dump();
}

}  // namespace

ConfigReader::ConfigReader(const nlohmann::json& json, const std::string& path, std::string inside)
    : json_(json), path_(path), inside_(std::move(inside)) {
  if (!json.is_object()) {
    throw Error(
        fmt::format("{}: expected a JSON object{}, got {}", path, inside_.empty() ? "" : " under \"" + inside_ + "\"", shown(json)));
  }
}

bool ConfigReader::has(const char* key) const {
  const auto found = json_.find(key);
  return found != json_.end() && !found->is_null();
}

bool ConfigReader::is_null(const char* key) const {
  const auto found = json_.find(key);
  return found != json_.end() && found->is_null();
}

const nlohmann::json& ConfigReader::value(const char* key) const {
  if (!has(key)) fail(key, is_null(key) ? "expected a value, got null" : "is missing");
  return *json_.find(key);
}

int ConfigReader::whole(const char* key, int low, int high) const {
  const nlohmann::json& found = value(key);
  // An unsigned number beyond int64 would wrap to a negative one.
  const bool fits = found.is_number_integer() && !(found.is_number_unsigned() && found.get<std::uint64_t>() > std::uint64_t(INT64_MAX));
  if (!fits || found.get<std::int64_t>() < low || found.get<std::int64_t>() > high) {
    fail(key, fmt::format("expected a whole number from {} to {}, got {}", low, high, shown(found)));
  }
  return static_cast<int>(found.get<std::int64_t>());
}

double ConfigReader::number(const char* key, double low, double high) const {
  const nlohmann::json& found = value(key);
  if (!found.is_number() || !(found.get<double>() >= low && found.get<double>() <= high)) {
    fail(key, fmt::format("expected a number from {} to {}, got {}", low, high, shown(found)));
  }
  return found.get<double>();
}

bool ConfigReader::flag_or(const char* key, bool fallback) const {
  if (!has(key)) return fallback;
  if (!value(key).is_boolean()) fail(key, fmt::format("expected true or false, got {}", shown(value(key))));
  return value(key).get<bool>();
}

std::string ConfigReader::text(const char* key) const {
  if (!value(key).is_string()) fail(key, fmt::format("expected a text, got {}", shown(value(key))));
  return value(key).get<std::string>();
}

std::optional<ConfigReader> ConfigReader::object(const char* key) const {
  if (!has(key)) return std::nullopt;
  return ConfigReader(value(key), path_, key);
}

std::optional<int> ConfigReader::token_id(const char* key, int vocab_size) const {
  if (!has(key)) return std::nullopt;
  const nlohmann::json* found = &value(key);
  if (found->is_array() && !found->empty()) found = &found->front();
  if (!found->is_number_integer() || found->get<std::int64_t>() < 0 || found->get<std::int64_t>() >= vocab_size) {
    fail(key, fmt::format("expected a token id below vocab_size = {}, got {}", vocab_size, shown(*found)));
  }
  return static_cast<int>(found->get<std::int64_t>());
}

void ConfigReader::fail(const std::string& key, const std::string& what) const {
  throw Error(fmt::format("{}: {}{}: {}", path_, inside_.empty() ? "" : inside_ + ".", key, what));
}

}  // namespace kvscope
