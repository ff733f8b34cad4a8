// SPDX-License-Identifier: Apache-2.0
#include "io/files.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/file.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>

#include "core/error.h"
#include "core/from_chars.h"
#include "io/file_handle.h"

namespace kvscope {
namespace {

constexpr std::size_t kLongestName = NAME_MAX - std::string_view(".2147483647-4294967295.part").size();  // that can be written in any case

/// The modes that a new file does not get. Asked once: to ask is to change it for a moment.
mode_t mask_of_user() {
  static const mode_t mask = [] {
    const mode_t old = ::umask(077);
    ::umask(old);
    return old;
  }();
  return mask;
}

/// A file that was renamed is there after a power cut only once its folder is written. Some file systems cannot, and need not.
void sync_folder(const std::string& folder) {
  const FileHandle handle(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (handle) ::fsync(handle.get());
}

/// A name that a disk could have, but not with what is added to it until the file is whole.
[[noreturn]] void refuse_name(const std::string& path) {
  const std::size_t bytes = path.size() - (path.rfind('/') + 1);
  if (bytes <= kLongestName) throw Error(fmt::format("{}: cannot be created: a path of so many bytes is too long", path));
  throw Error(fmt::format("{}: cannot be created: expected a name of at most {} bytes, got {}; while it is written it has some more", path,
                          kLongestName, bytes));
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

/// Of a name that an unfinished file of the target has, `TARGET.PID-N.part`: the process; 0: it is not such a name.
int writer_of(std::string_view name, std::string_view target) {
  constexpr std::string_view kEnd = ".part";
  if (name.size() < target.size() + 1 + kEnd.size() || !name.starts_with(target) || name[target.size()] != '.' || !name.ends_with(kEnd))
    return 0;
  const std::string_view middle = name.substr(target.size() + 1, name.size() - target.size() - 1 - kEnd.size());
  const char* const end = middle.data() + middle.size();
  int process = 0;
  unsigned number = 0;
  const auto [dash, bad] = from_chars(middle.data(), end, process);
  if (bad != std::errc() || dash == end || *dash != '-') return 0;
  const auto [stop, worse] = from_chars(dash + 1, end, number);
  return worse == std::errc() && stop == end ? std::max(process, 0) : 0;
}

}  // namespace

std::string in_folder(const std::string& folder, std::string_view name) {
  return fmt::format("{}{}{}", folder, folder.empty() || folder.ends_with('/') ? "" : "/", name);
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return path.substr(0, std::max<std::size_t>(slash, 1));
}

bool is_file(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored);
}

bool lies_in(const std::string& path, const std::string& folder) {
  namespace fs = std::filesystem;
  const auto real = [](const fs::path& where) {  // as it is where that cannot be told
    std::error_code error;
    fs::path out = fs::weakly_canonical(where, error);
    return error ? where : out;
  };
  const fs::path file = real(path), named = real(folder.empty() ? "." : folder);
  const fs::path inside = named.has_filename() ? named : named.parent_path();  // "x/" of a folder that is not there keeps its end
  const auto [end, unused] = std::mismatch(inside.begin(), inside.end(), file.begin(), file.end());
  return end == inside.end();
}

/// Where the system says no to a file of its own.
constexpr const char* kElsewhere = "; choose a folder that is writable and has space";

void write_all(const FileHandle& file, std::string_view text, const std::string& path, const char* remedy) {
  while (!text.empty()) {
    const ssize_t written = ::write(file.get(), text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw Error(fmt::format("{}: cannot be written: {}{}", path, std::strerror(errno), remedy));
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

std::string read_text(const std::string& path, std::size_t max_bytes, ReadFrom from) {
  const int no_waiting = from == ReadFrom::file ? O_NONBLOCK : 0;
  const FileHandle file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | no_waiting));
  if (!file) throw Error(fmt::format("{}: cannot be opened for reading: {}", path, std::strerror(errno)));
  std::string text;
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) throw Error(fmt::format("{}: cannot be examined: {}", path, std::strerror(errno)));
  if (S_ISDIR(info.st_mode) || (from == ReadFrom::file && !S_ISREG(info.st_mode)))
    throw Error(fmt::format("{}: cannot be read: expected a regular file, got {}", path, kind_of_file(info.st_mode)));
  if (S_ISREG(info.st_mode) && info.st_size > 0) {
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

void prepare_for_files() {
  ::signal(SIGXFSZ, SIG_IGN);
  for (int standard = 0; standard <= 2; ++standard)
    if (::fcntl(standard, F_GETFD) < 0 && errno == EBADF)
      static_cast<void>(::open("/dev/null", O_RDONLY));  // takes the lowest, which is this; what is written to it fails as before
}

void each_name(const std::string& folder, const std::function<bool(std::string_view name)>& take) {
  // std::filesystem::directory_iterator ends the program where memory is short.
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(::opendir(folder.c_str()), ::closedir);
  while (const dirent* entry = entries ? ::readdir(entries.get()) : nullptr) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != ".." && !take(name)) return;
  }
}

void remove_unfinished(const std::string& target) {
  const std::string own = target.substr(target.rfind('/') + 1), folder = folder_of(target);
  each_name(folder, [&](std::string_view name) {
    const int process = writer_of(name, own);
    if (process <= 0 || ::kill(process, 0) == 0 || errno != ESRCH) return true;
    // Of a living writer on another machine that shares the folder, or in another space of process numbers, it is locked.
    const std::string path = in_folder(folder, name);
    const FileHandle part(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (part && ::flock(part.get(), LOCK_EX | LOCK_NB) == 0) ::unlink(path.c_str());
    return true;
  });
}

void write_atomically(const std::string& path, std::string_view text, Readable readable) {
  write_atomically(
      path, [text](const TakesText& take) { take(text); }, readable);
}

void write_atomically(const std::string& path, const std::function<void(const TakesText& take)>& write, Readable readable) {
  std::error_code ignored;
  std::string target = path;
  struct stat old {};
  const bool exists = ::stat(path.c_str(), &old) == 0;
  const bool renamed = !exists || S_ISREG(old.st_mode) || S_ISDIR(old.st_mode);
  if (renamed && std::filesystem::is_symlink(path, ignored)) {  // replace what the link points to, not the link
    const auto resolved = std::filesystem::canonical(path, ignored);
    if (ignored)
      throw Error(fmt::format("{}: expected a file to write, got a link that leads nowhere: remove it or choose another name", path));
    target = resolved.string();
  }
  if (exists && S_ISDIR(old.st_mode)) throw Error(fmt::format("{}: expected a file to write, got a folder: choose another name", path));
  if (!renamed) {  // /dev/stdout, a pipe: nothing to rename over, and its link may lead to a name that is none (pipe:[17])
    const FileHandle sink(::open(target.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK));
    if (!sink && errno == ENXIO && S_ISFIFO(old.st_mode))
      throw Error(fmt::format("{}: nobody reads this pipe: start its reader first, or write to a file", path));
    if (!sink) throw Error(fmt::format("{}: cannot be opened for writing: {}", path, std::strerror(errno)));
    ::fcntl(sink.get(), F_SETFL, ::fcntl(sink.get(), F_GETFL) & ~O_NONBLOCK);  // it may read as slowly as it likes
    write([&](std::string_view piece) { write_all(sink, piece, path); });
    return;
  }

  if (exists && ::access(target.c_str(), W_OK) != 0)
    throw Error(fmt::format("{}: cannot be written over: {}; choose another name{}", path, std::strerror(errno),
                            errno == EACCES ? ", or allow it (chmod u+w)" : ""));
  static std::atomic<unsigned> counter = 0;  // several threads may write the same target
  const std::string folder = folder_of(target);
  remove_unfinished(target);
  std::string beside;
  int descriptor = -1;
  // A name may be taken by a killed program that had our number, or by one on another machine or in a container that has it now.
  for (int tries = 0; tries < 1000 && descriptor < 0 && (tries == 0 || errno == EEXIST); ++tries) {
    beside = fmt::format("{}.{}-{}.part", target, ::getpid(), counter.fetch_add(1));
    descriptor = ::open(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  }
  const FileHandle file(descriptor);
  if (!file && errno == ENAMETOOLONG) refuse_name(target);
  if (!file) throw Error(fmt::format("{}: cannot be created: {}{}", path, std::strerror(errno), kElsewhere));
  Leftover leftover(beside);
  ::flock(file.get(), LOCK_EX | LOCK_NB);
  write([&](std::string_view piece) { write_all(file, piece, path, kElsewhere); });
  if (readable == Readable::as_usual) ::fchmod(file.get(), exists ? old.st_mode & 07777 : 0666 & ~mask_of_user());
  if (::fsync(file.get()) != 0) throw Error(fmt::format("{}: cannot be written: {}{}", path, std::strerror(errno), kElsewhere));
  if (std::rename(beside.c_str(), target.c_str()) != 0)
    throw Error(fmt::format("{}: cannot be replaced: {}{}", path, std::strerror(errno), kElsewhere));
  leftover.keep();
  sync_folder(folder);
}

}  // namespace kvscope
