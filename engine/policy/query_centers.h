// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "policy/head_view.h"

namespace kvscope {

/// Of a prompt of n tokens, asked by `group` query heads.
QueryCenters query_centers(const PromptQueries& asked, std::size_t n, std::size_t group);

}  // namespace kvscope
