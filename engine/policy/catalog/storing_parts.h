// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "policy/catalog/custom.h"

namespace kvscope {

/// In which form keys and values stand in the cache.
PartKey storages();

}  // namespace kvscope
