// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace kvscope::remote {

struct ServeOptions {
  std::string version;    // of this program
  std::string own_model;  // folder of the model that comes with it
};

/// An engine for the program at the other ends of two descriptors, until `in` ends. What runs then is cancelled. Throws Error: another
/// version is there, or what comes is no command; the line is broken.
void serve(int in, int out, const ServeOptions& options);

}  // namespace kvscope::remote
