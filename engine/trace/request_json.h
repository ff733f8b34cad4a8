// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "io/json_cursor.h"
#include "runtime/session/run_request.h"
#include "trace/json_text.h"
#include "trace/trace_reader.h"

namespace kvscope {

inline constexpr int kSessionVersion = 1;  // of the window's files (*.kvscope)

/// For people: of a session of that version not all may be known here. Empty: it is.
std::string newer_session_notice(int version);

/// The members of a request, into an object that is open: how sessions keep it and how an engine elsewhere is asked. What is as a request
/// is made is left out where sessions of the first version know nothing of it.
void write_request(JsonText& out, const RunRequest& request);
/// The request in an object that may have other members; what is not given is as a request is made. Throws Error or UsageError: a value of
/// the wrong type or out of range, a run that this build does not know. With notes, words and runs that this build does not know are noted
/// and left out instead: a newer program may have written them.
RunRequest read_request(const JsonCursor& object, std::vector<std::string>* notes = nullptr);
/// What of a request results are not of: "prompt", "runs", "prompt mode", "fed tokens (follow)", "temperature", "seed" or "length
/// (generate)"; nullptr: they may be its own.
const char* not_of(const RunRequest& request, const Trace& results);
/// True of the names under which write_request() writes.
bool is_request_key(std::string_view key);

}  // namespace kvscope
