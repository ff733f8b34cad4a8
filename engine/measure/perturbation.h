// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

namespace kvscope {

/// ||a - b||_2 / ||b||_2; 0 where they are equal, NaN where only b is zero (POLICIES.md section 6).
double rel_l2(std::span<const double> a, std::span<const double> b);

/// Mean of rel_l2 over the query heads of a group: a, b [group, head_dim]. NaN if one of them is.
double mean_rel_l2(std::span<const double> a, std::span<const double> b, int group);

/// 1 - share of the full history's attention that falls on represented tokens, mean over the group: attention [group, n] over original positions,
/// evicted: positions that no slot stands for.
double attention_loss(std::span<const double> attention, int group, std::span<const int> evicted);

}  // namespace kvscope
