// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kvscope {

/// One entry of a safetensors header, as written: nothing but its form is checked.
struct HeaderEntry {
  std::string name;
  std::string dtype;
  std::vector<std::uint64_t> shape;
  std::vector<std::uint64_t> data_offsets;
};

/// Entries of a header's JSON, `__metadata__` left out, in the order of the text. Memory is proportional to the text, whatever it says.
/// Throws Error: not JSON, nested deeper than the format, keys twice, missing or unknown keys, numbers that are not unsigned integers.
std::vector<HeaderEntry> parse_safetensors_header(std::string_view json, const std::string& file_name);

}  // namespace kvscope
