// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "trace/trace_reader.h"

namespace kvscope::share {

/// Results as a file holds them, and what the file knows besides.
struct StoredRun {
  Trace trace;
  std::string notice = {};  // for people: what this program may not know of the file; usually empty
};

/// Reads a trace, or the results of a session of the window. Throws Error (neither of them, a session without results, damaged).
StoredRun read_stored_run(const std::string& path);

}  // namespace kvscope::share
