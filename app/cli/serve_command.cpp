// SPDX-License-Identifier: Apache-2.0
#include <csignal>

#include <fcntl.h>
#include <unistd.h>

#include "app/cli/commands.h"
#include "app/cli/inputs.h"
#include "core/error.h"
#include "remote/child.h"
#include "remote/serve.h"

namespace kvscope::cli {

int serve(const Arguments&) {
  std::signal(SIGPIPE, SIG_IGN);  // a window that has gone is an error like others
  // What a library prints must not stand between two messages.
  const FileHandle out(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3));
  if (out.get() < 0 || ::dup2(STDERR_FILENO, STDOUT_FILENO) < 0) throw Error("serve: stdout cannot be used");
  remote::serve(STDIN_FILENO, out.get(), {.version = KVSCOPE_VERSION, .own_model = embedded_model()});
  return 0;
}

}  // namespace kvscope::cli
