// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <span>

#include "cache/head_cache.h"
#include "core/dtype.h"
#include "policy/policy.h"
#include "snapshot/step_record.h"

namespace kvscope {

/// Of all caches of a run.
struct CacheSizes {
  double kv_bytes = 0;   // of the keys and values of all slots; where they are stored otherwise: as if they were
  double in_full = 0;    // of the same keys and values in the backend's numbers
  double allocated = 0;  // for them; the same, with rows in reserve in full precision
  double slots = 0;      // mean per head
};
CacheSizes sizes_of(const Policy& policy, const ModelConfig& config, DType dtype,
                    const std::function<std::span<const HeadCache>(int layer)>& heads);

/// What the record of a head says of the form in which its slots stand: kv_bytes, and with captures of every slot.
void describe_stored(const Policy& policy, const ModelConfig& config, DType dtype, const HeadCache& head, bool captures,
                     HeadRecord& record);

}  // namespace kvscope
