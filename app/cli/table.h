// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace kvscope::cli {

/// Columns padded to their widest cell, two spaces between them; numbers (every column but the first `n_text`) to the right.
/// Rows may be shorter than the first. Widths count code points.
std::string aligned(const std::vector<std::vector<std::string>>& rows, std::size_t n_text);

/// "1.5 MB" (powers of 1000), "640 B".
std::string bytes_text(double bytes);

/// A number for people: `digits` significant digits, "n/a" for NaN.
std::string figure(double value, int digits = 3);

}  // namespace kvscope::cli
