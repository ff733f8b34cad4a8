// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace kvscope::share {

/// A file of viz/web as it was when the program was built. Asserts that there is one of that name.
std::string_view web_file(std::string_view name);

}  // namespace kvscope::share
