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
      return {"Reading the text", "it becomes tokens first"};
    default:
      return {"0 tokens", "type a prompt to see what the cache keeps"};
  }
}

}  // namespace kvscope::viz
