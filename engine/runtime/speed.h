// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/cancel.h"
#include "runtime/model/model.h"

namespace kvscope {

/// What the machine could do at best, measured with the same backend.
struct SpeedLimits {
  double copy_gb_per_s = 0;  // bytes read and written by a copy inside the backend's memory
  /// Of linear() with many rows and the largest matrix of the model's first layer; a product and a sum are two operations.
  double products_tflops = 0;
};
SpeedLimits measure_limits(Backend& backend, const Model& model);

/// A step of a full cache, without policies and records: how fast the model itself is.
struct StepSpeed {
  int batch = 0, context = 0;
  double ms = 0;  // of a step, median
  double tokens_per_s = 0;
  double bytes = 0;  // that a step must read: weights once, keys and values of every row
};
/// batch rows, each with its own cache of `context` slots. Throws Error where they do not fit, Cancelled.
StepSpeed measure_steps(Backend& backend, const Model& model, int batch, int context, const CancelToken& cancel);

/// Tokens of a prompt that is measured; what they are does not matter for the speed.
std::vector<int> measured_prompt(int n, int vocab_size);

enum class ReadingSums { none, of_columns };
/// Milliseconds to read a prompt of n tokens, without runs: with the last token's attention alone, or with sums over all rows of the
/// attention of each kind that runs may want.
double measure_reading(Backend& backend, const Model& model, int n, ReadingSums sums, const CancelToken& cancel);
/// Multiplications and additions of that, without the statistics.
double reading_operations(const Model& model, int n);

}  // namespace kvscope
