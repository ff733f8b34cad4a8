// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <set>

#include "io/gguf_file.h"

namespace kvscope {

/// Reads the bytes of one GGUF file once from its beginning to the data.
class GgufReader {
 public:
  GgufReader(std::span<const std::byte> bytes, const std::string& name) : bytes_(bytes), name_(name) {}

  /// Throws Error.
  GgufFile read();
  /// The map that the views of `file` point into lives with it.
  static void keep(GgufFile& file, std::shared_ptr<MappedFile> map) { file.tensors_.file_ = std::move(map); }

 private:
  struct Entry {
    std::string name;
    std::string_view type;
    TensorView view;  // its bytes come last
    bool has_view = false;
    std::uint64_t begin = 0, size = 0;  // bytes, in the data
  };

  std::uint64_t left() const { return bytes_.size() - at_; }
  std::span<const std::byte> take(std::uint64_t n, std::string_view what);
  template <class T>
  T number(std::string_view what);
  std::string_view text(std::uint64_t most, std::string_view what);
  void read_header();
  void read_pair(GgufFile& out);
  void read_value(GgufValue& value, const std::string& key);
  void read_elements(GgufValue& value, std::uint64_t count, const std::string& key);
  void count_elements(std::uint64_t count, const std::string& key);
  Entry read_entry();
  void place(std::vector<Entry>& entries, GgufFile& out) const;

  std::span<const std::byte> bytes_;
  const std::string& name_;
  std::uint64_t at_ = 0;
  std::uint64_t n_tensors_ = 0, n_pairs_ = 0, n_elements_ = 0, alignment_ = 32;
};

}  // namespace kvscope
