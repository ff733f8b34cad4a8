// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

namespace kvscope {

/// One record as in RFC 4180 with a plain newline: cells that hold a comma, a quote or a line break are quoted.
std::string csv_line(std::span<const std::string> cells);

}  // namespace kvscope
