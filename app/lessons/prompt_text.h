// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

namespace kvscope {

inline constexpr std::size_t kMostPromptBytes = std::size_t(1) << 20;  // some 260,000 tokens; with more the window stands still for long

/// Text of a file that is to be the prompt. Throws Error if it cannot be read, is larger than kMostPromptBytes or is no text in UTF-8.
std::string read_prompt_text(const std::string& path);

}  // namespace kvscope
