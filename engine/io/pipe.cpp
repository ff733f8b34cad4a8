// SPDX-License-Identifier: Apache-2.0
#include "io/pipe.h"

#include <array>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <unistd.h>

#include <fmt/format.h>

#include "core/error.h"

namespace kvscope {

Pipe::Pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0)
    throw Error(fmt::format("a pipe could not be made: {}; close other programs", std::strerror(errno)));
  read = FileHandle(ends[0]);
  write = FileHandle(ends[1]);
}

}  // namespace kvscope
