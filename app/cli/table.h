// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace kvscope::cli {

/// Columns padded to their widest cell, two spaces between them; numbers (every column but the first `n_text`) to the right.
/// Rows may be shorter than the first. Widths count code points.
std::string aligned(const std::vector<std::vector<std::string>>& rows, std::size_t n_text);

}  // namespace kvscope::cli
