// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace kvscope::cli {

/// Columns padded to their widest cell, two spaces between them; numbers (every column but the first `n_text`) to the right. Widths count
/// code points. For rows that need not be in memory together: each is measured before the first line is asked for.
class Columns {
 public:
  explicit Columns(std::size_t n_text) : n_text_(n_text) {}
  void measure(const std::vector<std::string>& row);
  /// Ends with a newline.
  std::string line(const std::vector<std::string>& row) const;

 private:
  std::size_t n_text_;
  std::vector<std::size_t> widths_;
};

/// Under a table of runs that read their own texts.
inline constexpr const char* kComparedUntilTextsPart = "KL and top-1 same: only before a run's text parts from the full cache's";

/// All of them. Rows may be shorter than the first.
std::string aligned(const std::vector<std::vector<std::string>>& rows, std::size_t n_text);

}  // namespace kvscope::cli
