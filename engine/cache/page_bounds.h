// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cache/head_cache.h"

namespace kvscope {

/// Completes cache.pages up to all full pages of `page` slots.
void complete_page_bounds(Backend& backend, HeadCache& cache, int page, int head_dim);

}  // namespace kvscope
