// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/backend.h"
#include "cache/head_cache.h"
#include "snapshot/step_record.h"

namespace kvscope {

/// The keys that came next where a plan looked for the most similar one, into the events of its removals, which are the last of the record.
void record_runner_ups(Backend& backend, const HeadCache& head, const Plan& plan, HeadRecord& record);

}  // namespace kvscope
