// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>

#include "runtime/lane/lane.h"
#include "runtime/model/model.h"
#include "runtime/session/run_request.h"

namespace kvscope {

/// What decides how much memory the records of one lane take.
struct RecordShape {
  int n_heads = 0;          // KV heads of all layers
  int first = 1, last = 1;  // tokens seen by the first and by the last step
  double slots = -1;        // budget per head, mean; -1: none
  bool compresses = false, statistic = false, agreement = false;
  Detail detail = Detail::why;
};

/// Bytes of the records, computed. It leaves out merges and the allocator's own share.
double record_bytes(const RecordShape& shape);

using Lanes = std::span<const std::unique_ptr<Lane>>;

/// Bytes that the records of a request are going to take, from the shapes of model and text.
double record_estimate(Lanes lanes, const ModelConfig& model, const RunRequest& request, int n_prompt, int n_decode);
/// Throws Error where weights, the caches of all lanes after n_tokens tokens, and what is kept of the prompt's attention for them do not
/// fit into `memory` bytes.
void check_memory(Lanes lanes, const Model& model, DType dtype, int n_tokens, double of_attention, double memory);

/// Takes the slots out of the oldest records until what all lanes hold is within record_limit (bytes).
void keep_to_limit(Lanes lanes, double record_limit);

}  // namespace kvscope
