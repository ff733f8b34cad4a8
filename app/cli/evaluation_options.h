// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "app/cli/arguments.h"

namespace CLI {
class App;
}

namespace kvscope::cli {

/// --lane, as often as one likes.
void add_lanes(CLI::App& app, std::vector<std::string>& lanes);
void add_seed(CLI::App& app, Arguments& arguments);

/// Options of the commands that measure over many runs, besides those that all commands have.
void add_sweep(CLI::App& app, Arguments& arguments);
void add_needle(CLI::App& app, Arguments& arguments);
void add_ppl(CLI::App& app, Arguments& arguments);

/// What can be known without a model. Throws UsageError.
void check_evaluation(const Arguments& arguments);

}  // namespace kvscope::cli
