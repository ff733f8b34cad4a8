// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace kvscope {

/// One stage of opening a model, in order: what has been done of it.
struct LoadStage {
  enum class State : std::uint8_t { waiting, running, done };
  std::string name;  // "read header"
  State state = State::waiting;
  double bytes = 0, of_bytes = 0;  // of_bytes 0: not a matter of bytes, or not known yet
  double ms = 0;                   // since it began; of a stage that is done: what it took
};

}  // namespace kvscope
