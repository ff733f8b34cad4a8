// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "snapshot/snapshot.h"

namespace kvscope::viz {

/// What stands where tokens would, as long as there are none.
struct NoTokens {
  std::string title, sentence;
};
inline NoTokens no_tokens(const Snapshot* snapshot) {
  // The model of another machine is not known here before it has read the text.
  const bool reading = snapshot != nullptr && (snapshot->phase == RunPhase::computing || snapshot->phase == RunPhase::loading);
  if (snapshot == nullptr || (snapshot->model.n_layers == 0 && !reading)) return {"No model", "open a model to see what its cache keeps"};
  switch (snapshot->phase) {
    case RunPhase::failed:
      return {"Text not taken", "the line above says why"};
    case RunPhase::computing:
    case RunPhase::loading:
      return {"Reading the text", snapshot->tokens.empty() || snapshot->activity.empty() ? "it becomes tokens first" : snapshot->activity};
    default:
      if (!snapshot->tokens.empty()) return {"Stopped", "the text was not read to its end: Generate goes on"};
      return {"0 tokens", "type a prompt to see what the cache keeps"};
  }
}

/// What stands where a run would, as long as there is none.
inline std::string no_run(const Snapshot* snapshot) {
  const bool reading = snapshot != nullptr && snapshot->model.n_layers > 0 && snapshot->phase == RunPhase::computing;
  return reading ? "the text is being read" : "no run yet";
}

}  // namespace kvscope::viz
