// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace kvscope {

/// Shortest decimal form that reads back to the same double, always with a point or an exponent ("0.0", "1e-07"). `value` is finite.
std::string number_text(double value);
/// The same for a float: shortest form that reads back to the same float.
std::string number_text(float value);
/// JSON string with its quotes. Bytes that are not UTF-8 become U+FFFD.
std::string string_text(std::string_view text);
/// True if the bytes are well-formed UTF-8 (no overlong forms, no surrogates, at most U+10FFFF).
bool is_utf8(std::string_view bytes);

/// Appends JSON to a string, in the order of the calls; commas are put where they belong. The caller balances the brackets.
class JsonText {
 public:
  JsonText& begin_object() { return open('{'); }
  JsonText& end_object() { return close('}'); }
  /// lines: every element on a line of its own.
  JsonText& begin_array(bool lines = false);
  JsonText& end_array();
  JsonText& key(std::string_view name);

  JsonText& value(double finite_number);
  JsonText& value(float finite_number);
  JsonText& value(int number);
  JsonText& value(unsigned long long number);
  JsonText& value(bool flag);
  JsonText& value(std::string_view text);
  JsonText& value(const char* text) { return value(std::string_view(text)); }
  JsonText& null();
  JsonText& values(std::span<const int> numbers);

  template <class T>
  JsonText& member(std::string_view name, const T& v) {
    return key(name).value(v);
  }

  /// A value that is written past this one, right here.
  JsonText& elsewhere() { return raw({}); }

  const std::string& text() const { return text_; }
  /// What has come since the last time.
  std::string take() { return std::exchange(text_, {}); }

 private:
  JsonText& open(char bracket);
  JsonText& close(char bracket);
  JsonText& raw(std::string_view token);
  void separate();
  std::string& next_item();  // the text, for one item that comes to its end

  std::string text_;
  bool need_comma_ = false;
  bool after_key_ = false;
  std::string line_arrays_;  // one letter per open bracket: 'l' where elements stand on lines of their own
};

}  // namespace kvscope
