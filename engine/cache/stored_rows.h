// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/backend.h"
#include "cache/head_cache.h"
#include "policy/storage/storage.h"

namespace kvscope {

/// What is due of a head leaves full precision: its rows become what would be read back. True if something was. The arithmetic is the
/// host's, in double, whatever the backend.
bool store_rows(Backend& backend, HeadCache& cache, const Storage& storage, const StoreSite& site, bool after_prompt);

}  // namespace kvscope
