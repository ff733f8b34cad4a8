// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace kvscope {

/// How the query heads of a group become one row: abar_i = reduce over g of a_{g,i} (POLICIES.md section 1).
enum class GroupReduce : std::uint8_t { mean, max, sum };

/// abar [n], n = abar.size(), of the rows of `group` query heads: head g begins at a + g * stride.
void reduce_group(const double* a, std::size_t stride, int group, GroupReduce how, std::span<double> abar);

}  // namespace kvscope
