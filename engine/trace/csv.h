// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include "snapshot/snapshot.h"

namespace kvscope {

/// One record as in RFC 4180 with a plain newline: cells that hold a comma, a quote or a line break are quoted.
std::string csv_line(std::span<const std::string> cells);

/// One row per lane, header first: policy,spec,slots,kl,nll,top1_same,local_rel_l2,local_l1_wo,attention_loss,bytes,tokens_per_s,
/// theta,predictor_error,hidden_rel_l2 (after the last layer),kv_bytes. bytes are allocated, kv_bytes used by the slots.
/// Numbers in the shortest form that reads back; empty where there is none. Means as in RunFigures.
std::string lanes_csv(const Snapshot& snapshot);

/// One row per lane and step, header first: spec,step,position,next_token,nll,kl,top1_same,slots,events,local_rel_l2,attention_loss,theta,
/// predictor_error, then hidden_rel_l2_0 to the last layer's. slots: mean over heads; events: sum over heads; other figures of heads: mean
/// over the heads that have them.
std::string steps_csv(const Snapshot& snapshot);

}  // namespace kvscope
