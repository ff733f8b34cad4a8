// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "io/json_cursor.h"
#include "runtime/session/run_request.h"
#include "trace/json_text.h"

namespace kvscope {

inline constexpr int kMostLanesOfAFile = 64;

/// The members of a request, into an object that is open: how sessions keep it and how an engine elsewhere is asked. What is as a request
/// is made is left out where sessions of the first version know nothing of it.
void write_request(JsonText& out, const RunRequest& request);
/// The request in an object that may have other members; what is not given is as a request is made. Throws Error or UsageError: a value of
/// the wrong type or out of range, a run that this build does not know.
RunRequest read_request(const JsonCursor& object);

}  // namespace kvscope
