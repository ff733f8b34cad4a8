// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace kvscope {

/// Json::sax_parse() of all of the text. By itself it takes a zero byte for the end, whatever stands behind it; here the reader hears of an
/// error at that byte, as at any other that JSON does not have.
template <class Json, class Reader>
void parse_json(std::string_view text, Reader& reader) {
  const std::size_t zero = text.find('\0');
  if (zero == std::string_view::npos) {
    Json::sax_parse(text.begin(), text.end(), &reader);
    return;
  }
  const std::string begins = std::string(text.substr(0, zero)) + '\x01';
  Json::sax_parse(begins.begin(), begins.end(), &reader);
}

}  // namespace kvscope
