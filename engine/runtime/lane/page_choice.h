// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "cache/head_cache.h"
#include "policy/policy.h"
#include "snapshot/step_record.h"

namespace kvscope {

/// Slots that this step's query, q [group, head_dim] in backend memory, leaves unread of a head, ascending: added to `bias`, and written
/// into `record`, the scores of the pages with captures. Empty where the policy reads everything.
std::vector<int> choose_pages(Backend& backend, const ModelConfig& config, const Policy& policy, int layer, HeadCache& head, const void* q,
                              bool captures, std::vector<double>& bias, HeadRecord& record);

/// p [group, n] is exactly 0 there, whatever exp() has made of it.
void set_unread(std::span<double> p, int group, std::span<const int> unread);

}  // namespace kvscope
