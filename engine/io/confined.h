// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "core/error.h"

namespace kvscope {

/// What work on a hostile file may take.
struct Confinement {
  std::size_t memory_mib = 256;  // beyond what the process has
  int processor_s = 2;
  std::size_t text_bytes = 64 << 20;  // of what it returns
};

/// What was taken was more, or the work brought its process down.
class Confined : public Error {
 public:
  using Error::Error;
};

/// The text that `work` makes, made in a copy of this process: for libraries that read programs out of files and set no bounds to memory,
/// time or stack. Whatever happens there, here nothing but an error does. `work` sees everything as it is here and changes nothing here; it
/// may not start threads or wait for any. Costs a fork, tenths of a millisecond. Throws Error with the message of what `work` threw,
/// Confined (what was exceeded), Error where the system starts no process.
std::string confined(const std::function<std::string()>& work, const Confinement& limits = {});

}  // namespace kvscope
