// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace kvscope::remote {

static_assert(std::endian::native == std::endian::little, "numbers travel as they lie in memory");

template <class T>
concept Plain = std::is_arithmetic_v<T> || std::is_enum_v<T>;

/// Puts values into bytes. Whole numbers take as many bytes as they need, reals go bit by bit, and lists of whole numbers as runs of equal
/// distances, so that the slots of a cache that nothing has left are some bytes, however many they are.
class Writer {
 public:
  static constexpr bool kReads = false;

  template <class... Values>
  void operator()(const Values&... values) {
    (put(values), ...);
  }
  /// Without a list's length before it: the other side knows it.
  template <class T>
  void column(const std::vector<T>& values) {
    runs(values);
  }
  void raw(const void* data, std::size_t n) { bytes_.append(static_cast<const char*>(data), n); }
  void whole(std::uint64_t value);

  std::size_t size() const { return bytes_.size(); }
  const std::string& bytes() const { return bytes_; }
  std::string take() { return std::exchange(bytes_, {}); }

 private:
  template <Plain T>
  void put(const T& value) {
    if constexpr (std::is_floating_point_v<T>) {
      raw(&value, sizeof value);
    } else if constexpr (std::is_enum_v<T>) {
      whole(static_cast<std::uint64_t>(value));
    } else if constexpr (std::is_signed_v<T>) {
      signed_whole(value);
    } else {
      whole(value);
    }
  }
  void put(const std::string& text);
  template <class A, class B>
  void put(const std::pair<A, B>& both) {
    put(both.first);
    put(both.second);
  }
  template <class T>
  void put(const std::vector<T>& values) {
    whole(values.size());
    if constexpr (std::is_floating_point_v<T>) {
      raw(values.data(), values.size() * sizeof(T));
    } else if constexpr (Plain<T>) {
      runs(values);
    } else {
      for (const T& v : values) put(v);
    }
  }
  template <class T>
  requires std::is_class_v<T>
  void put(const T& value) { fields(*this, value); }
  template <class T>
  void runs(const std::vector<T>& values) {
    std::int64_t before = 0;
    for (std::size_t i = 0; i < values.size();) {
      const std::int64_t step = static_cast<std::int64_t>(values[i]) - before;
      std::size_t n = 0;
      for (; i < values.size() && static_cast<std::int64_t>(values[i]) - before == step; ++i, ++n) before += step;
      signed_whole(step);
      whole(n);
    }
  }
  void signed_whole(std::int64_t value) { whole(static_cast<std::uint64_t>(value) << 1 ^ static_cast<std::uint64_t>(value >> 63)); }

  std::string bytes_;
};

/// Takes them out again, and trusts nothing: every length is held against the bytes that are left and against what may be filled.
class Reader {
 public:
  static constexpr bool kReads = true;

  /// most: bytes of memory that the values may fill in all. Both outlive it.
  Reader(std::string_view bytes, std::size_t most) : rest_(bytes), most_(most) {}

  template <class... Values>
  void operator()(Values&... values) {
    (get(values), ...);
  }
  /// As long as it is.
  template <class T>
  void column(std::vector<T>& values) {
    runs(values, values.size());
  }
  void raw(void* data, std::size_t n);
  std::uint64_t whole();
  int index(int end);  // in [0, end)
  /// A list's length: every element has a byte at least, and fills so many of memory.
  std::size_t length(std::size_t size_of_one);
  /// Makes room for n elements that may be less than a byte each.
  template <class T>
  void reserve(std::vector<T>& values, std::uint64_t n) {
    fill(n, sizeof(T));
    values.resize(static_cast<std::size_t>(n));
  }
  bool at_end() const { return rest_.empty(); }
  /// Of memory, that have been filled.
  std::size_t filled() const { return filled_; }
  [[noreturn]] static void refuse(const char* expected, std::uint64_t got);

 private:
  template <Plain T>
  void get(T& value) {
    if constexpr (std::is_floating_point_v<T>) {
      raw(&value, sizeof value);
    } else if constexpr (std::is_same_v<T, bool>) {
      value = index(2) == 1;
    } else if constexpr (std::is_enum_v<T>) {
      value = static_cast<T>(index(count_of(*this, T{})));
    } else if constexpr (std::is_signed_v<T>) {
      value = narrowed<T>(signed_whole());
    } else {
      const std::uint64_t got = whole();
      value = static_cast<T>(got);
      if (value != got) refuse("a smaller number", got);
    }
  }
  void get(std::string& text);
  template <class A, class B>
  void get(std::pair<A, B>& both) {
    get(both.first);
    get(both.second);
  }
  template <class T>
  void get(std::vector<T>& values) {
    if constexpr (std::is_floating_point_v<T>) {
      const std::uint64_t n = whole();
      if (n > rest_.size() / sizeof(T)) refuse("as many numbers as there are bytes for", n);
      reserve(values, n);
      raw(values.data(), values.size() * sizeof(T));
    } else if constexpr (Plain<T>) {
      const std::uint64_t n = whole();
      values.clear();
      fill(n, sizeof(T));
      runs(values, static_cast<std::size_t>(n));
    } else {
      values.resize(length(sizeof(T)));
      for (T& v : values) get(v);
    }
  }
  template <class T>
  requires std::is_class_v<T>
  void get(T& value) { fields(*this, value); }
  template <class T>
  static T narrowed(std::int64_t value) {
    if (static_cast<std::int64_t>(static_cast<T>(value)) != value) refuse("a smaller number", static_cast<std::uint64_t>(value));
    return static_cast<T>(value);
  }
  template <class T>
  void runs(std::vector<T>& values, std::size_t size) {
    values.resize(size);
    std::uint64_t now = 0;
    for (std::size_t i = 0; i < size;) {
      const std::uint64_t step = static_cast<std::uint64_t>(signed_whole()), n = whole();
      if (n == 0 || n > size - i) refuse("a run that fits into its list", n);
      for (const std::size_t end = i + static_cast<std::size_t>(n); i < end; ++i) {
        now += step;
        values[i] = narrowed<T>(static_cast<std::int64_t>(now));
      }
    }
  }
  std::int64_t signed_whole() {
    const std::uint64_t v = whole();
    return static_cast<std::int64_t>(v >> 1 ^ (~(v & 1) + 1));
  }
  void fill(std::uint64_t n, std::size_t size_of_one);

  std::string_view rest_;
  std::size_t most_, filled_ = 0;
};

}  // namespace kvscope::remote
