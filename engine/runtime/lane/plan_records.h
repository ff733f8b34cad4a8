// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/backend.h"
#include "cache/head_cache.h"
#include "policy/plan.h"
#include "runtime/lane/lane_context.h"
#include "runtime/lane/record_options.h"
#include "snapshot/step_record.h"

namespace kvscope {

/// Whose record it is, and what the policy may keep there; n_slots: after the step's compression.
void record_limits(const LaneContext& lane, int layer, int kv_head, int n_slots, HeadRecord& record);

/// What the scores of these slots are made of: the first ones of the terms' slots.
ScoreParts score_parts(std::span<const int> pos, std::span<const ScoreTerm> terms);

/// As events have it.
const char* name_of(MergeForm form);

/// What a plan is going to do to a head, before it is carried out: an event per removal, and with captures the details of its merges and
/// the keys that came next. by_hand: it was no policy's.
void record_plan(Backend& backend, const HeadCache& head, const Plan& plan, const RecordOptions& options, HeadRecord& record,
                 bool by_hand = false);

}  // namespace kvscope
