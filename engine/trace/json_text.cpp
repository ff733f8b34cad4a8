// SPDX-License-Identifier: Apache-2.0
#include "trace/json_text.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include <fmt/compile.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/error.h"

namespace kvscope {

namespace {

// A trace is numbers and short names by the million: they are appended without a string or a parsed format of their own.
template <class T>
void append_shortest(std::string& text, T value) {
  KVSCOPE_ASSERT(std::isfinite(value));
  const std::size_t begin = text.size();
  fmt::format_to(std::back_inserter(text), FMT_COMPILE("{}"), value);
  if (text.find_first_of(".e", begin) == std::string::npos) text += ".0";
}

template <class T>
std::string shortest(T value) {
  std::string text;
  append_shortest(text, value);
  return text;
}

void append_string(std::string& text, std::string_view value) {
  const auto plain = [](char c) { return c >= ' ' && c < 0x7f && c != '"' && c != '\\'; };
  if (std::ranges::all_of(value, plain)) {
    text += '"';
    text += value;
    text += '"';
  } else {
    text += nlohmann::json(value).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }
}

}  // namespace

std::string number_text(double value) { return shortest(value); }
std::string number_text(float value) { return shortest(value); }

std::string string_text(std::string_view text) {
  std::string result;
  append_string(result, text);
  return result;
}

bool is_utf8(std::string_view bytes) {
  std::size_t i = 0;
  while (i < bytes.size()) {
    const auto lead = static_cast<unsigned char>(bytes[i]);
    const int more = lead < 0x80                   ? 0
                     : lead >= 0xC2 && lead < 0xE0 ? 1
                     : lead >= 0xE0 && lead < 0xF0 ? 2
                     : lead >= 0xF0 && lead < 0xF5 ? 3
                                                   : -1;
    if (more < 0 || bytes.size() - i <= static_cast<std::size_t>(more)) return false;
    for (int j = 1; j <= more; ++j) {
      if ((static_cast<unsigned char>(bytes[i + j]) & 0xC0) != 0x80) return false;
    }
    const auto second = more > 0 ? static_cast<unsigned char>(bytes[i + 1]) : 0x80;
    if (lead == 0xE0 && second < 0xA0) return false;   // overlong
    if (lead == 0xED && second >= 0xA0) return false;  // surrogate
    if (lead == 0xF0 && second < 0x90) return false;   // overlong
    if (lead == 0xF4 && second >= 0x90) return false;  // above U+10FFFF
    i += 1 + static_cast<std::size_t>(more);
  }
  return true;
}

void JsonText::separate() {
  if (after_key_) {
    after_key_ = false;
    return;
  }
  if (need_comma_) text_ += ',';
  if (!line_arrays_.empty() && line_arrays_.back() == 'l') text_ += '\n';
}

JsonText& JsonText::open(char bracket) {
  separate();
  text_ += bracket;
  line_arrays_ += ' ';
  need_comma_ = false;
  return *this;
}

JsonText& JsonText::close(char bracket) {
  KVSCOPE_ASSERT(!line_arrays_.empty());
  text_ += bracket;
  line_arrays_.pop_back();
  need_comma_ = true;
  return *this;
}

JsonText& JsonText::begin_array(bool lines) {
  open('[');
  if (lines) line_arrays_.back() = 'l';
  return *this;
}

JsonText& JsonText::end_array() { return close(']'); }

std::string& JsonText::next_item() {
  separate();
  need_comma_ = true;
  return text_;
}

JsonText& JsonText::raw(std::string_view token) {
  next_item() += token;
  return *this;
}

JsonText& JsonText::key(std::string_view name) {
  separate();
  append_string(text_, name);
  text_ += ':';
  after_key_ = true;
  return *this;
}

JsonText& JsonText::value(double number) {
  append_shortest(next_item(), number);
  return *this;
}

JsonText& JsonText::value(float number) {
  append_shortest(next_item(), number);
  return *this;
}

JsonText& JsonText::value(std::string_view text) {
  append_string(next_item(), text);
  return *this;
}

JsonText& JsonText::value(int number) { return raw(fmt::format_int(number).c_str()); }
JsonText& JsonText::value(unsigned long long number) { return raw(fmt::format_int(number).c_str()); }
JsonText& JsonText::value(bool flag) { return raw(flag ? "true" : "false"); }
JsonText& JsonText::null() { return raw("null"); }

JsonText& JsonText::values(std::span<const int> numbers) {
  begin_array();
  for (const int n : numbers) value(n);
  return end_array();
}

}  // namespace kvscope
