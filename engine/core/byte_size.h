// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace kvscope {

/// "2.0 GiB", "312 MiB", "0 B".
std::string size_text(double bytes);
/// "2G", "1.5GiB", "512M", "800 MiB", "1048576": units of 1024; at least one byte. Nothing where it is not of this form.
std::optional<std::size_t> parse_size(std::string_view text);

}  // namespace kvscope
