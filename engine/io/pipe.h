// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "io/file_handle.h"

namespace kvscope {

/// Both ends of a pipe, closed in programs that are started. Throws Error.
struct Pipe {
  Pipe();
  FileHandle read, write;
};

}  // namespace kvscope
