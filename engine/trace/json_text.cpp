// SPDX-License-Identifier: Apache-2.0
#include "trace/json_text.h"

#include <cmath>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "core/error.h"

namespace kvscope {

namespace {

template <class T>
std::string shortest(T value) {
  KVSCOPE_ASSERT(std::isfinite(value));
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

}  // namespace

std::string number_text(double value) { return shortest(value); }
std::string number_text(float value) { return shortest(value); }

std::string string_text(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
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

JsonText& JsonText::raw(std::string_view token) {
  separate();
  text_ += token;
  need_comma_ = true;
  return *this;
}

JsonText& JsonText::key(std::string_view name) {
  raw(string_text(name));
  text_ += ':';
  after_key_ = true;
  return *this;
}

JsonText& JsonText::value(double number) { return raw(number_text(number)); }
JsonText& JsonText::value(float number) { return raw(number_text(number)); }
JsonText& JsonText::value(int number) { return raw(fmt::format("{}", number)); }
JsonText& JsonText::value(unsigned long long number) { return raw(fmt::format("{}", number)); }
JsonText& JsonText::value(bool flag) { return raw(flag ? "true" : "false"); }
JsonText& JsonText::value(std::string_view text) { return raw(string_text(text)); }
JsonText& JsonText::null() { return raw("null"); }

JsonText& JsonText::values(std::span<const int> numbers) {
  begin_array();
  for (const int n : numbers) value(n);
  return end_array();
}

}  // namespace kvscope
