// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "runtime/model/devices.h"
#include "runtime/session/run_request.h"

namespace kvscope::remote {

/// A model to load, by its place on the machine of the engine.
struct LoadCommand {
  std::string folder;  // empty: the model that comes with the program there
  SessionOptions options;
};

/// What is sent of commands: JSON, the request as session files have it.
std::string load_text(const LoadCommand& command);
LoadCommand read_load(const std::string& text);  // throws Error
std::string request_text(const RunRequest& request);
RunRequest read_request_text(const std::string& text);  // throws Error, UsageError

}  // namespace kvscope::remote
