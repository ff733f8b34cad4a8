// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace kvscope {

/// Text of files, arguments and models as a terminal may have it: control characters and bytes that are no UTF-8 as \\xNN, so that none of
/// them moves the cursor, sets a title or answers for the user. Line feeds and tabs stay.
std::string for_terminal(std::string_view text);

}  // namespace kvscope
