// SPDX-License-Identifier: Apache-2.0
#include "io/spill_file.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "core/error.h"
#include "io/files.h"

namespace kvscope {

namespace {

constexpr std::size_t kPiece = std::size_t{1} << 20;

int open_without_name(const std::string& folder) {
  // It never has a name where the file system can do that; else for a moment, and a program that is killed in it leaves an empty file.
  const int nameless = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (nameless >= 0) return nameless;
  std::string name = folder + "/kvscope-XXXXXX";
  const int descriptor = ::mkostemp(name.data(), O_CLOEXEC);
  if (descriptor < 0)
    throw Error(fmt::format("{}: no file can be made there for what does not fit into memory: {}", folder, std::strerror(errno)));
  ::unlink(name.c_str());
  return descriptor;
}

}  // namespace

SpillFile::SpillFile(const std::string& folder) : name_(fmt::format("what is put aside in {}", folder)), file_(open_without_name(folder)) {}

void SpillFile::append(std::string_view text) { write_all(file_, text, name_); }

void SpillFile::read(const std::function<void(std::string_view)>& take) const {
  std::vector<char> piece(kPiece);
  for (off_t at = 0;;) {
    const ssize_t got = ::pread(file_.get(), piece.data(), piece.size(), at);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw Error(fmt::format("{}: cannot be read: {}", name_, std::strerror(errno)));
    if (got == 0) return;
    take({piece.data(), static_cast<std::size_t>(got)});
    at += got;
  }
}

}  // namespace kvscope
