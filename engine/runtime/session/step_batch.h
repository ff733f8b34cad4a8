// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "core/cancel.h"
#include "runtime/forward.h"
#include "runtime/lane/lane.h"

namespace kvscope {

/// One step of several lanes: one row per lane, one pass over the weights. tokens[i] is fed to lanes[i] at `position`; their open records
/// get all heads, their `logits` the distribution after the token. On Cancelled the lanes are marked broken.
void run_step(Backend& backend, Forward& forward, std::span<Lane* const> lanes, std::span<const int> tokens, int position,
              const CancelToken& cancel);

}  // namespace kvscope
