// SPDX-License-Identifier: Apache-2.0
#include "io/mapped_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "core/error.h"
#include "io/file_handle.h"

namespace kvscope {

MappedFile::MappedFile(const std::string& path) {
  // O_NONBLOCK: opening a pipe must not wait for a writer before it can be refused.
  const FileHandle file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) throw Error(fmt::format("{}: cannot be opened for reading: {}", path, std::strerror(errno)));
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) throw Error(fmt::format("{}: cannot be examined: {}", path, std::strerror(errno)));
  if (!S_ISREG(info.st_mode)) throw Error(fmt::format("{}: expected a regular file, got {}", path, kind_of_file(info.st_mode)));
  if (info.st_size == 0) return;
  const auto size = static_cast<std::size_t>(info.st_size);
  void* map = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (map == MAP_FAILED) throw Error(fmt::format("{}: {} bytes cannot be mapped into memory: {}", path, size, std::strerror(errno)));
  data_ = static_cast<const std::byte*>(map);
  size_ = size;
}

MappedFile::~MappedFile() {
  if (data_) ::munmap(const_cast<std::byte*>(data_), size_);
}

MappedFile::MappedFile(MappedFile&& other) noexcept : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

}  // namespace kvscope
