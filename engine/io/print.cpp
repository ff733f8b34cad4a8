// SPDX-License-Identifier: Apache-2.0
#include "io/print.h"

#include <unistd.h>

#include <cstdio>
#include <string>

#include "core/error.h"
#include "io/terminal_text.h"

namespace kvscope {

int print(std::string_view text) {
  const std::string shown = isatty(STDOUT_FILENO) ? for_terminal(text) : std::string();
  if (isatty(STDOUT_FILENO)) text = shown;
  const bool written = text.empty() || std::fwrite(text.data(), 1, text.size(), stdout) == text.size();  // no text may have no address
  if (!written || std::fflush(stdout) != 0 || std::ferror(stdout))
    throw Error("stdout: expected to write the whole result, got an error; is the disk full or the pipe closed?");
  return 0;
}

}  // namespace kvscope
