// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "app/cli/arguments.h"

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

/// Says early that a result cannot be written there, before minutes of work. Throws UsageError naming the option.
void check_target(const std::string& path, const char* option = "--out");
/// Throws UsageError if the path is one of the files that the command reads: of the model's folder, the session, a prompt or texts.
void check_not_read(const Arguments& a, const std::string& path, const char* option = "--out");

/// One line on stderr, whatever the message holds.
void note(std::string message);

/// Writes text to stdout and makes sure that it got there. Returns 0; throws Error (disk full, closed pipe).
int print(std::string_view text);

}  // namespace kvscope::cli
