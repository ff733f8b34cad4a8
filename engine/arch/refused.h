// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace kvscope {

/// Why models of a family that people have do not open, one clause without full stop; empty: nothing is known of the family.
std::string_view why_refused(std::string_view model_type);

}  // namespace kvscope
