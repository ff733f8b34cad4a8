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
#include "io/map_faults.h"

namespace kvscope {

MappedFile::MappedFile(const std::string& path) : path_(path) {
  // O_NONBLOCK: opening a pipe must not wait for a writer before it can be refused.
  file_ = FileHandle(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file_) throw Error(fmt::format("{}: cannot be opened for reading: {}", path, std::strerror(errno)));
  struct stat info {};
  if (::fstat(file_.get(), &info) != 0) throw Error(fmt::format("{}: cannot be examined: {}", path, std::strerror(errno)));
  if (!S_ISREG(info.st_mode)) throw Error(fmt::format("{}: expected a regular file, got {}", path, kind_of_file(info.st_mode)));
  seconds_ = info.st_mtim.tv_sec;
  nanoseconds_ = info.st_mtim.tv_nsec;
  if (info.st_size == 0) return;
  const auto size = static_cast<std::size_t>(info.st_size);
  void* map = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file_.get(), 0);
  if (map == MAP_FAILED) throw Error(fmt::format("{}: {} bytes cannot be mapped into memory: {}", path, size, std::strerror(errno)));
  data_ = static_cast<const std::byte*>(map);
  size_ = size;
  watch_map(data_, size_);
}

MappedFile::~MappedFile() {
  if (!data_) return;
  unwatch_map(data_);
  ::munmap(const_cast<std::byte*>(data_), size_);
}

void MappedFile::check() const {
  if (data_ && map_has_faults(data_))
    throw Error(fmt::format("{}: {} bytes were expected, but it was cut short or its disk failed while it was read: write it again and {}",
                            path_, size_, kOpenAnew));
  struct stat now {};
  if (!data_ || ::fstat(file_.get(), &now) != 0) return;
  if (static_cast<std::size_t>(now.st_size) != size_ || now.st_mtim.tv_sec != seconds_ || now.st_mtim.tv_nsec != nanoseconds_)
    throw Error(fmt::format("{}: was written to while it was in use, so what was read of it may be of two files: {}", path_, kOpenAnew));
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : path_(std::move(other.path_)),
      file_(std::move(other.file_)),
      seconds_(other.seconds_),
      nanoseconds_(other.nanoseconds_),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(file_, other.file_);
  std::swap(seconds_, other.seconds_);
  std::swap(nanoseconds_, other.nanoseconds_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

}  // namespace kvscope
