// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace kvscope {

/// Whole text of a file. Throws Error if it cannot be read or is larger than max_bytes.
std::string read_text(const std::string& path, std::size_t max_bytes = std::size_t(1) << 30);

/// Writes beside the target and renames, so that readers see the old file or the whole new one. Throws Error.
void write_atomically(const std::string& path, std::string_view text);

}  // namespace kvscope
