// SPDX-License-Identifier: Apache-2.0
#include "io/files.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "core/error.h"
#include "io/file_handle.h"

namespace kvscope {
namespace {

void write_all(const FileHandle& file, std::string_view text, const std::string& path) {
  while (!text.empty()) {
    const ssize_t written = ::write(file.get(), text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw Error(fmt::format("{}: cannot be written: {}", path, std::strerror(errno)));
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

/// Removes the unfinished file unless it was renamed into place.
class Leftover {
 public:
  explicit Leftover(const std::string& path) : path_(path) {}
  ~Leftover() {
    if (!kept_) ::unlink(path_.c_str());
  }
  Leftover(const Leftover&) = delete;
  Leftover& operator=(const Leftover&) = delete;
  void keep() { kept_ = true; }

 private:
  const std::string& path_;
  bool kept_ = false;
};

}  // namespace

std::string read_text(const std::string& path, std::size_t max_bytes) {
  const FileHandle file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) throw Error(fmt::format("{}: cannot be opened for reading: {}", path, std::strerror(errno)));
  std::string text;
  struct stat info {};
  if (::fstat(file.get(), &info) == 0 && S_ISREG(info.st_mode) && info.st_size > 0) {
    if (static_cast<std::size_t>(info.st_size) > max_bytes) {
      throw Error(fmt::format("{}: expected at most {} bytes, got {}", path, max_bytes, info.st_size));
    }
    text.reserve(static_cast<std::size_t>(info.st_size));
  }
  char block[1 << 16];
  while (true) {
    const ssize_t got = ::read(file.get(), block, sizeof block);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw Error(fmt::format("{}: cannot be read: {}", path, std::strerror(errno)));
    if (got == 0) return text;
    if (text.size() + static_cast<std::size_t>(got) > max_bytes)
      throw Error(fmt::format("{}: expected at most {} bytes, got more", path, max_bytes));
    text.append(block, static_cast<std::size_t>(got));
  }
}

void write_atomically(const std::string& path, std::string_view text) {
  std::error_code ignored;
  std::string target = path;
  if (std::filesystem::is_symlink(path, ignored)) {  // replace what the link points to, not the link
    const auto resolved = std::filesystem::weakly_canonical(path, ignored);
    if (!ignored) target = resolved.string();
  }
  struct stat old {};
  const bool exists = ::stat(target.c_str(), &old) == 0;
  if (exists && S_ISDIR(old.st_mode)) throw Error(fmt::format("{}: expected a file to write, got a folder", path));
  if (exists && !S_ISREG(old.st_mode)) {  // /dev/stdout, a pipe: nothing to rename over
    const FileHandle sink(::open(target.c_str(), O_WRONLY | O_CLOEXEC));
    if (!sink) throw Error(fmt::format("{}: cannot be opened for writing: {}", path, std::strerror(errno)));
    write_all(sink, text, path);
    return;
  }

  static std::atomic<unsigned> counter = 0;  // several threads may write the same target
  const std::string beside = fmt::format("{}.{}-{}.part", target, ::getpid(), counter.fetch_add(1));
  const FileHandle file(::open(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (!file) throw Error(fmt::format("{}: cannot be created: {}", path, std::strerror(errno)));
  Leftover leftover(beside);
  write_all(file, text, path);
  if (exists) ::fchmod(file.get(), old.st_mode & 07777);
  if (::fsync(file.get()) != 0) throw Error(fmt::format("{}: cannot be written: {}", path, std::strerror(errno)));
  if (std::rename(beside.c_str(), target.c_str()) != 0) throw Error(fmt::format("{}: cannot be replaced: {}", path, std::strerror(errno)));
  leftover.keep();
}

}  // namespace kvscope
