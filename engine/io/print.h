// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace kvscope {

/// Writes text to stdout, a terminal's without what would move its cursor, and makes sure that it and all before it got there. Returns 0;
/// throws Error (disk full, closed pipe).
int print(std::string_view text);

}  // namespace kvscope
