// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace kvscope::share {

/// zlib's format (RFC 1950). Throws Error (memory).
std::string deflated(std::string_view bytes);
/// The `n_bytes` that were packed. Throws Error where it is damaged, or of another length.
std::string inflated(std::string_view packed, std::size_t n_bytes, const std::string& name);

/// RFC 4648 with '+', '/' and '='.
std::string base64(std::string_view bytes);
/// Throws Error, which begins with `name`, where the text is not of that form.
std::string from_base64(std::string_view text, const std::string& name);

}  // namespace kvscope::share
