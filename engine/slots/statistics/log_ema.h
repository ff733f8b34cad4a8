// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <span>

#include "core/host_device.h"
#include "core/vector_math.h"

namespace kvscope::log_ema {

// Log-domain EMA of exp(z), per slot and query head of the group: lS <- ln(alpha exp(lS) + (1 - alpha) exp(z)), z the slot's logit plus its
// extra; a query that does not score the slot (z = -inf) changes nothing. n: how many queries scored it. Predicted: lshat = lS - ln(1 -
// alpha^n) (POLICIES.md section 5). For all slots at once, several numbers at a time: exponentials are what it costs.

/// One number of a step; ln_keep = ln alpha, ln_new = ln(1 - alpha).
KVSCOPE_HOST_DEVICE inline double folded(double lS, double z, double ln_keep, double ln_new) {
  return log_add_exp_one(lS + ln_keep, z + ln_new);
}
/// One step: lS, z [slots, group], n [slots].
void fold(std::span<double> lS, std::span<int> n, double alpha, int group, std::span<const double> z);
/// After the last `rows` queries of a prompt at once, the same sum that fold() makes query by query. z [rows, group, slots], newest last;
/// lS and n are written and added to.
void fold_prompt(std::span<double> lS, std::span<int> n, double alpha, int group, int rows, std::span<const double> z);

}  // namespace kvscope::log_ema

namespace kvscope {

/// ln(1 - alpha^n), the start-up correction of the EMA.
class EmaStart {
 public:
  explicit EmaStart(double alpha) : alpha_(alpha) {}
  double at(int n) const { return std::log(1.0 - std::pow(alpha_, n)); }
  /// The same, remembered by its thread for the n met so far.
  double operator()(int n) const;

 private:
  double alpha_;
};

}  // namespace kvscope
