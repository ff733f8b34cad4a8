// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/budget_curves.h"

namespace kvscope {

/// Reads the tensor `budget_curves` [99, n_layers, n_kv_heads] (F64, F32, F16 or BF16) of a safetensors file: LU-KV's curves, which are
/// published as an array of numpy. Throws Error (file, expected, got): not a safetensors file, no such tensor, another shape or type, a
/// number that is no share.
BudgetCurves read_budget_curves(const std::string& path);

}  // namespace kvscope
