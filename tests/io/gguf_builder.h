// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kvscope::test {

/// The bytes of a GGUF file, written pair by pair and tensor by tensor. What is wrong in a file is written as it is asked for.
class GgufBuilder {
 public:
  std::uint32_t version = 3, alignment = 32;

  GgufBuilder& text(std::string_view key, std::string_view value) { return pair(key, 8, counted(value)); }
  GgufBuilder& u32(std::string_view key, std::uint32_t value) { return pair(key, 4, bytes_of(value)); }
  GgufBuilder& f32(std::string_view key, float value) { return pair(key, 6, bytes_of(value)); }
  GgufBuilder& flag(std::string_view key, bool value) { return pair(key, 7, std::string(1, value ? 1 : 0)); }
  GgufBuilder& texts(std::string_view key, const std::vector<std::string>& values) {
    std::string bytes = bytes_of(std::uint32_t(8)) + bytes_of(std::uint64_t(values.size()));
    for (const std::string& value : values) bytes += counted(value);
    return pair(key, 9, bytes);
  }
  GgufBuilder& i32s(std::string_view key, const std::vector<std::int32_t>& values) { return numbers(key, 5, values); }
  GgufBuilder& f32s(std::string_view key, const std::vector<float>& values) { return numbers(key, 6, values); }
  /// A value of a kind by its number.
  GgufBuilder& pair(std::string_view key, std::uint32_t kind, std::string_view value) {
    pairs_ += counted(key) + bytes_of(kind) + std::string(value);
    ++n_pairs_;
    return *this;
  }
  /// dims: shortest step first, as the format has them. The offset is the next that is free, if none is given.
  GgufBuilder& tensor(std::string_view name, std::uint32_t type, const std::vector<std::uint64_t>& dims, std::string_view data,
                      std::int64_t offset = -1) {
    tensors_ += counted(name) + bytes_of(static_cast<std::uint32_t>(dims.size()));
    for (const std::uint64_t n : dims) tensors_ += bytes_of(n);
    tensors_ += bytes_of(type) + bytes_of(offset < 0 ? std::uint64_t(data_.size()) : static_cast<std::uint64_t>(offset));
    data_ += data;
    pad(data_);
    ++n_tensors_;
    return *this;
  }

  std::string build() const {
    std::string file = "GGUF" + bytes_of(version) + bytes_of(n_tensors_) + bytes_of(n_pairs_) + pairs_ + tensors_;
    if (n_tensors_ > 0) pad(file);
    return file + data_;
  }

  template <class T>
  static std::string bytes_of(T value) {
    return {reinterpret_cast<const char*>(&value), sizeof value};
  }
  static std::string counted(std::string_view text) { return bytes_of(std::uint64_t(text.size())) + std::string(text); }

 private:
  template <class T>
  GgufBuilder& numbers(std::string_view key, std::uint32_t kind, const std::vector<T>& values) {
    std::string bytes = bytes_of(kind) + bytes_of(std::uint64_t(values.size()));
    for (const T value : values) bytes += bytes_of(value);
    return pair(key, 9, bytes);
  }
  void pad(std::string& bytes) const { bytes.resize((bytes.size() + alignment - 1) / alignment * alignment, '\0'); }

  std::uint64_t n_pairs_ = 0, n_tensors_ = 0;
  std::string pairs_, tensors_, data_;
};

}  // namespace kvscope::test
