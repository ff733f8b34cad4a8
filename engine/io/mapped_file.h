// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "io/file_handle.h"

namespace kvscope {

/// What has to be done with a file that MappedFile::check() refuses: the end of its sentence.
inline constexpr const char* kOpenAnew = "open it anew";

/// A file mapped read-only into memory. Move-only. Where another program cuts the file short or its disk fails, reading gives zeros from
/// the first page on that cannot be had (the process lives), and check() says so: ask it after bytes were copied and before they are used.
class MappedFile {
 public:
  /// Throws Error if the path is not a readable regular file. An empty file gives an empty span.
  explicit MappedFile(const std::string& path);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  /// Throws Error naming the file if a byte of it could not be read, or it was changed since it was opened.
  void check() const;

 private:
  std::string path_;
  FileHandle file_;                             // open for as long as it is mapped: a name may be another file's by now
  std::int64_t seconds_ = 0, nanoseconds_ = 0;  // when it was changed last
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace kvscope
