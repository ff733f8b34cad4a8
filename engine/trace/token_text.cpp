// SPDX-License-Identifier: Apache-2.0
#include "trace/token_text.h"

#include <string_view>

namespace kvscope {
namespace {

constexpr std::string_view kDigits = "0123456789abcdef";

std::string from_hex(const JsonCursor& text) {
  const auto digit = [&](char c) {
    const auto at = kDigits.find(c);
    if (at == std::string_view::npos) text.fail("pairs of hexadecimal digits");
    return static_cast<char>(at);
  };
  const std::string_view hex = text.view();
  if (hex.size() % 2 != 0) text.fail("pairs of hexadecimal digits");
  std::string bytes;
  for (std::size_t i = 0; i < hex.size(); i += 2) bytes += static_cast<char>(digit(hex[i]) << 4 | digit(hex[i + 1]));
  return bytes;
}

}  // namespace

void write_token_text(JsonText& json, const TokenInfo& token) {
  if (token.special) {
    json.begin_object().member("special", token.piece).end_object();
  } else if (is_utf8(token.bytes)) {
    json.value(token.bytes);
  } else {
    std::string hex;
    for (const unsigned char c : token.bytes) (hex += kDigits[c >> 4]) += kDigits[c & 15];
    json.begin_object().member("hex", hex).end_object();
  }
}

void read_token_text(const JsonCursor& text, TokenInfo& token) {
  if (text.has("special")) {
    token.special = true;
    token.piece = text.at("special").text();
  } else {
    token.bytes = text.has("hex") ? from_hex(text.at("hex")) : text.text();
  }
}

}  // namespace kvscope
