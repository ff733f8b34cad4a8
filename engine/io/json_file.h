// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace kvscope {

/// JSON nested deeper than this is refused: no file we read needs it, and hostile depth costs memory and stack.
inline constexpr int kMaxJsonDepth = 64;

/// Parses text; `name` is for messages. Throws Error: not JSON (says at which byte), or nested deeper than kMaxJsonDepth.
nlohmann::json parse_json(std::string_view text, const std::string& name);

/// read_text + parse_json.
nlohmann::json read_json(const std::string& path, std::size_t max_bytes);

}  // namespace kvscope
