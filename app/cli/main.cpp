// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <exception>
#include <string>

#include "app/cli/arguments.h"
#include "app/cli/commands.h"
#include "app/cli/interrupt.h"
#include "core/error.h"
#include "core/failure.h"
#include "io/files.h"
#include "io/terminal_text.h"
#include "policy/catalog.h"

namespace {

using namespace kvscope;

int run(int argc, char** argv) {
  const cli::Arguments arguments = cli::parse_arguments(argc, argv);
  for (const std::string& text : arguments.lane_texts)
    if (const auto own = in_own_words(text)) cli::note(text + " is read as " + *own);
  switch (arguments.command) {
    case cli::Command::nothing:
      return print(arguments.message);
    case cli::Command::info:
      return cli::info(arguments);
    case cli::Command::run:
      return cli::run(arguments);
    case cli::Command::trace:
      return cli::trace(arguments);
    case cli::Command::share:
      return cli::share(arguments);
    case cli::Command::sweep:
      return cli::sweep(arguments);
    case cli::Command::needle:
      return cli::needle(arguments);
    case cli::Command::ppl:
      return cli::ppl(arguments);
    case cli::Command::heads:
      return cli::heads(arguments);
    case cli::Command::tokens:
      return cli::tokens(arguments);
    case cli::Command::models:
      return cli::models(arguments);
    case cli::Command::serve:
      return cli::serve(arguments);
    case cli::Command::bench:
      return cli::bench(arguments);
  }
  KVSCOPE_ASSERT(false);
}

}  // namespace

void kvscope::cli::note(std::string message) {
  for (char& c : message) {
    if (c == '\n' || c == '\r') c = ' ';
  }
  std::fprintf(stderr, "kvscope-cli: %s\n", for_terminal(message).c_str());
}

int main(int argc, char** argv) {
  prepare_for_files();
  try {
    return run(argc, argv);
  } catch (const UsageError& e) {
    cli::note(e.what());
    return 2;
  } catch (const Cancelled&) {
    cli::note("stopped");
    return cli::Interrupt::kExitStatus;
  } catch (const std::exception& e) {
    cli::note(words_of(e));
    return 1;
  }
}
