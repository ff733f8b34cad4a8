// SPDX-License-Identifier: Apache-2.0
#include "io/json_asset.h"

#include "core/error.h"

namespace kvscope {

JsonDocument read_json_asset(const std::string& path, std::string_view kind, std::string_view expected) {
  constexpr JsonLimits kLimits{.bytes = std::size_t(1) << 20, .values = std::size_t(1) << 18, .once = true};
  JsonDocument document = JsonDocument::read(path, kLimits);
  const JsonCursor o(document);
  if (!o.is_object() || o.text_or("kvscope", "") != kind || o.whole_or("version", 0, 1 << 20, 0) != 1)
    throw Error(path + ": expected " + std::string(expected) + ", version 1");
  return document;
}

std::vector<std::string> texts_under(const JsonCursor& object, std::string_view key) {
  constexpr std::size_t kMostTexts = 100;
  std::vector<std::string> out;
  if (!object.given(key)) return out;
  const JsonCursor list = object.at(key);
  if (!list.is_array()) list.fail("a list of texts");
  for (std::size_t i = 0; i < list.size(kMostTexts); ++i) {
    const JsonCursor text = list.at(i);
    if (!text.is_string()) text.fail("a text in a list of texts");
    out.push_back(text.text());
  }
  return out;
}

}  // namespace kvscope
