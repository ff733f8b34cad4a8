// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace kvscope {

/// ||a - b||_2 / ||b||_2; 0 where they are equal, NaN where only b is zero (POLICIES.md section 6).
double rel_l2(std::span<const double> a, std::span<const double> b);

/// Mean of rel_l2 over the query heads of a group: a, b [group, head_dim]. NaN if one of them is.
double mean_rel_l2(std::span<const double> a, std::span<const double> b, int group);

/// 1 - share of the full history's attention that falls on represented tokens, mean over the group: attention [group, n] over original
/// positions, evicted: positions that no slot stands for.
double attention_loss(std::span<const double> attention, int group, std::span<const int> evicted);

/// Mean over the group of its attention [group, n].
std::vector<float> mean_over_group(std::span<const double> attention, int group);

/// Agreement: how many query heads of a group rank each token among the `budget` tokens to which they pay most attention (>= 1; of equal
/// ones the lower position first). attention [group, n] over original positions, group at most 255 -> [n].
std::vector<std::uint8_t> agreement(std::span<const double> attention, int group, int budget);

/// Upper bound of local_l1_wo where tokens are only evicted (CriticalKV, Theorem 3.3): sum over the group's query heads g and all tokens i
/// of |A_i - N_i A_i / sigma| nu_i, N_i = 1 for the kept tokens, sigma = sum N_i A_i, nu_i = ||v_i W_O^(g)||_1. attention [group, n] of the
/// full history; kept: positions; value_l1: entry [i * stride + g]. NaN where no kept token has any attention.
double theta_bound(std::span<const double> attention, int group, std::span<const int> kept, std::span<const double> value_l1,
                   std::size_t stride);

/// Of a predicted log-score lshat against the true one, z + extra, over all slots with a finite prediction and the group's query heads.
struct PredictorError {
  double log = 0;       // mean |lshat - (z + extra)|, nats; NaN: nothing was predicted
  double relative = 0;  // mean |shat - s| / s, s = exp(z + extra) (KeepKV, Figure 2 (d)); NaN likewise
};
/// lshat: entry [i * group + g]; z [group, n]; extra [n].
PredictorError predictor_error(std::span<const double> lshat, std::span<const double> z, std::span<const double> extra, int group);

}  // namespace kvscope
