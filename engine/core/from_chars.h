// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>
#include <version>

namespace kvscope {

/// std::from_chars for doubles without its standard library: the same texts, values and errors in every locale; of "nan(...)" only "nan".
std::from_chars_result read_double(const char* first, const char* last, double& value);

/// std::from_chars for every number. libc++ has it for whole numbers only (until version 20).
using std::from_chars;
#if !defined(__cpp_lib_to_chars)
inline std::from_chars_result from_chars(const char* first, const char* last, double& value) { return read_double(first, last, value); }
#endif

/// The whole text as a number; nullopt: it is none, has more behind it, or is out of the type's range.
template <class T>
std::optional<T> number_from(std::string_view text) {
  T value{};
  const char* end = text.data() + text.size();
  const auto [stop, error] = from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end) return std::nullopt;
  return value;
}

}  // namespace kvscope
