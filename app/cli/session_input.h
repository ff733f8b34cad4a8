// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "runtime/model/run_files.h"
#include "runtime/session/run_request.h"

namespace kvscope::cli {

/// What a *.kvscope file of the window asks to be computed. Selection, page and bookmarks are the window's business.
struct SessionInput {
  std::string model;               // folder; empty: the embedded one
  std::string model_sha256;        // of the model that made the stored results (arch/model_parts.h); empty: none are stored, or not known
  std::vector<RunFileHash> files;  // that its runs read beside the model for these results, by their names in them
  RunRequest request;              // with the names of such files as they are found from here
};

/// Throws Error: not readable, no session, a value of the wrong type or out of range (which, expected, got), or a file of a newer version,
/// whose result could be another one.
SessionInput read_session_input(const std::string& path);

/// Throws Error where another model lies in `model` than the one that made the results which the session at `path` holds: its figures would
/// pass for theirs.
void check_same_model(const std::string& path, const SessionInput& session, const std::string& model);

/// The session's request, once it is sure that its runs name no files but of the model's folder and of the session's own. Somebody else may
/// have written it. Throws UsageError that names them, and Error where they held something else when its results were computed, unless
/// `trusted`.
RunRequest request_of_session(const std::string& path, const std::string& model_folder, bool trusted);

}  // namespace kvscope::cli
