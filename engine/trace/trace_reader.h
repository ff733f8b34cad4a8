// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/json_document.h"
#include "snapshot/snapshot.h"

namespace kvscope {

/// What a trace file holds.
struct Trace {
  Snapshot snapshot;  // fates are derived from the events where there are any heads; params come in order of key
  std::uint64_t seed = 0;
  bool has_slots = false;             // else it tells nothing of the caches (detail summary or events)
  std::vector<std::string> missing;   // what a window shows and the file does not say, a sentence each
  std::vector<std::string> warnings;  // as written, and a sentence about every kind of event this program does not know
};

inline constexpr std::size_t kMaxTraceBytes = std::size_t(512) << 20;
/// A trace has most of its values in lists of slots: 2^27 of them are some 2.7 GB while it is read.
inline constexpr JsonLimits kTraceLimits{kMaxTraceBytes, std::size_t(1) << 27};

/// Reads a trace of schema kvscope.trace/1. Unknown keys are ignored, missing optional ones are "not available". Everything that is used
/// as an index later is checked: shapes of the model, ids, positions, order of slots, heads layer-major. `name` (a file's name) begins
/// every message. Throws Error (what, where, expected, got).
Trace read_trace(std::string_view json, const std::string& name);

/// The same from a file of at most kMaxTraceBytes.
Trace read_trace_file(const std::string& path);

/// What is to be said of a trace of so many bytes that was just written; empty: it can be read again.
std::string too_large_to_read(std::uintmax_t bytes);

}  // namespace kvscope
