// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <initializer_list>
#include <string>

#include "app/cli/arguments.h"
#include "io/print.h"

namespace kvscope::cli {

/// The commands. Each prints its result on stdout and returns the exit status; failures are exceptions (core/error.h).
int info(const Arguments& arguments);
int run(const Arguments& arguments);
int trace(const Arguments& arguments);
int share(const Arguments& arguments);
int sweep(const Arguments& arguments);
int needle(const Arguments& arguments);
int ppl(const Arguments& arguments);
int heads(const Arguments& arguments);
int bench(const Arguments& arguments);
int tokens(const Arguments& arguments);
int models(const Arguments& arguments);
int serve(const Arguments& arguments);

/// A file that a command writes; an empty path is no file, nor is - of --out, which is standard output.
struct Target {
  const char* option;
  const std::string& path;
};
/// Says early, before minutes of work, that a result cannot be written there: no such folder, a file that the command reads (of the model,
/// the session, a prompt or texts), standard output where the result goes there, two results in one file. Throws UsageError naming the
/// option.
void check_targets(const Arguments& a, std::initializer_list<Target> targets);

/// One line on stderr, whatever the message holds.
void note(std::string message);

}  // namespace kvscope::cli
