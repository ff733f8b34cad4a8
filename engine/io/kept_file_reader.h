// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/kept_file.h"

namespace kvscope {

/// Reads kvscope.kept/1 (TRACE.md section 6), checked throughout: every kept position is one that was read by that step, and stands there
/// once. Masks may lie in safetensors files in the same folder. Throws Error (file, where, expected, got).
KeptFile read_kept_file(const std::string& path);

}  // namespace kvscope
