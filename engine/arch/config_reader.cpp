// SPDX-License-Identifier: Apache-2.0
#include "arch/config_reader.h"

#include <fmt/format.h>

#include "core/error.h"

namespace kvscope {

ConfigReader::ConfigReader(const JsonDocument& document) : ConfigReader(JsonCursor(document)) {}

ConfigReader::ConfigReader(const JsonCursor& json) : json_(json) {
  if (!json.is_object()) json.fail("a JSON object");
}

JsonCursor ConfigReader::value(const char* key) const {
  if (!has(key)) fail(key, is_null(key) ? "expected a value, got null" : "is missing");
  return json_.at(key);
}

int ConfigReader::whole(const char* key, int low, int high) const {
  const JsonCursor found = value(key);
  if (!found.is_whole() || !(found.real() >= low && found.real() <= high))
    found.fail(fmt::format("a whole number from {} to {}", low, high));
  return static_cast<int>(found.real());
}

double ConfigReader::number(const char* key, double low, double high) const { return value(key).real(low, high); }

std::string ConfigReader::text(const char* key) const { return value(key).text(); }

std::optional<ConfigReader> ConfigReader::object(const char* key) const {
  if (!has(key)) return std::nullopt;
  return ConfigReader(json_.at(key));
}

JsonCursor ConfigReader::list(const char* key, std::size_t size) const {
  const JsonCursor found = value(key);
  if (!found.is_array() || found.size() != size) found.fail(fmt::format("a list of {}", size));
  return found;
}

std::vector<double> ConfigReader::numbers(const char* key, std::size_t size, double low, double high) const {
  const JsonCursor found = list(key, size);
  std::vector<double> out;
  for (std::size_t i = 0; i < size; ++i) out.push_back(found.at(i).real(low, high));
  return out;
}

std::vector<std::string> ConfigReader::texts(const char* key, std::size_t size) const {
  const JsonCursor found = list(key, size);
  std::vector<std::string> out;
  for (std::size_t i = 0; i < size; ++i) out.push_back(found.at(i).text());
  return out;
}

std::optional<int> ConfigReader::token_id(const char* key, int vocab_size) const {
  if (!has(key)) return std::nullopt;
  const JsonCursor found = json_.at(key);
  const JsonCursor id = found.is_array() && found.size() > 0 ? found.at(std::size_t(0)) : found;
  if (!id.is_whole() || !(id.real() >= 0 && id.real() < vocab_size)) id.fail(fmt::format("a token id below vocab_size = {}", vocab_size));
  return static_cast<int>(id.real());
}

void ConfigReader::fail(const std::string& key, const std::string& what) const {
  throw Error(fmt::format("{}{}{}: {}", json_.where(), json_.where() == json_.document_name() ? ": " : ".", key, what));
}

}  // namespace kvscope
