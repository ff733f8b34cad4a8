// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace kvscope {

/// How the query heads of a group become one row: abar_i = reduce over g of a_{g,i} (POLICIES.md section 1).
enum class GroupReduce : std::uint8_t { mean, max, sum };

}  // namespace kvscope
