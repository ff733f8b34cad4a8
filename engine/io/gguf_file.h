// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/tensor_file.h"

namespace kvscope {

/// A value of a GGUF's metadata: a view into the file, every byte of which was checked when the file was opened.
class GgufValue {
 public:
  /// In the numbers of the format.
  enum class Kind : std::uint32_t { u8, i8, u16, i16, u32, i32, f32, flag, text, list, u64, i64, f64 };

  /// Of a list: of its elements, which are no lists themselves.
  Kind kind() const { return kind_; }
  bool is_list() const { return is_list_; }
  bool is_text() const { return kind_ == Kind::text; }
  bool is_flag() const { return kind_ == Kind::flag; }
  bool is_real() const { return kind_ == Kind::f32 || kind_ == Kind::f64; }
  bool is_whole() const { return !is_text() && !is_flag() && !is_real(); }
  /// Elements of a list; 1 of anything else.
  std::size_t size() const { return count_; }

  // An element; of a scalar the only one. Only where the kind fits.
  std::string_view text(std::size_t i = 0) const;
  bool flag(std::size_t i = 0) const;
  /// A whole number; beyond 63 bits the largest that fits.
  std::int64_t whole(std::size_t i = 0) const;
  /// Any number.
  double real(std::size_t i = 0) const;

 private:
  friend class GgufReader;

  Kind kind_ = Kind::u8;
  bool is_list_ = false;
  std::size_t count_ = 1;
  std::span<const std::byte> bytes_;  // the numbers, one after the other
  std::vector<std::string_view> texts_;
};

/// One GGUF file of version 2 or 3, little-endian (https://github.com/ggml-org/ggml describes the format), read through a memory map:
/// metadata, and tensors with their dimensions in our order (rows first). As strict as TensorFile: every count and length is checked
/// against the bytes that are there before it is used; keys and tensors have names of their own, known types, whole blocks in each row,
/// offsets that are multiples of the alignment, and bytes that are theirs alone.
class GgufFile {
 public:
  /// Throws Error (what, where, expected, got).
  static GgufFile open(const std::string& path);
  /// The same checks on bytes in memory; `name` is for messages. The bytes must outlive the result.
  static GgufFile parse(std::span<const std::byte> bytes, const std::string& name);
  /// True if the file can be read and begins as a GGUF does.
  static bool is_one(const std::string& path);

  const std::string& name() const { return name_; }
  /// nullptr: there is no such key.
  const GgufValue* find(std::string_view key) const;
  // The value of a key. Throws Error where it is of another kind; the first two also where the key is missing.
  std::string_view text(std::string_view key) const;
  std::int64_t whole(std::string_view key) const;
  std::string_view text_or(std::string_view key, std::string_view otherwise) const;
  std::int64_t whole_or(std::string_view key, std::int64_t otherwise) const;
  bool flag_or(std::string_view key, bool otherwise) const;
  /// A list of texts, of whole or of real numbers; nullptr: there is none.
  const GgufValue* texts(std::string_view key) const;
  const GgufValue* wholes(std::string_view key) const;
  const GgufValue* reals(std::string_view key) const;

  const TensorFile& tensors() const { return tensors_; }
  /// Hands over the tensors with the map of the file, into which the metadata points too.
  TensorFile take_tensors() { return std::move(tensors_); }

  [[noreturn]] void fail(std::string_view key, std::string_view what) const;

 private:
  friend class GgufReader;

  std::string name_;
  std::map<std::string, GgufValue, std::less<>> metadata_;
  TensorFile tensors_;
};

}  // namespace kvscope
