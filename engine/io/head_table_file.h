// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/head_table.h"

namespace kvscope {

/// A JSON file with a number per head: a list of lists, or an object {"layer-head": number or list of numbers}. Throws Error: no file, not
/// JSON, larger than 16 MiB or of more than 2^20 values.
HeadTable read_head_table(const std::string& path);

}  // namespace kvscope
