// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "backend/backend.h"
#include "backend/cuda/device.h"

namespace kvscope::cuda {

// Products with weight matrices, as backend.h says.

inline constexpr int kSkinnyRows = 32;  // linear() of more rows is cuBLAS

inline Numbers numbers(const Weight& w) { return {w.data, w.dtype}; }

/// x [rows, table.in] = rows ids[r] (device memory) of the table.
void embed(Device& device, const Weight& table, const int* ids, int rows, void* x);
void linear(Device& device, const void* x, const Weight& w, int rows, void* y, bool add);
void wo_l1(Device& device, const ModelConfig& config, std::span<const WoNormJob> jobs);
void wo_rows(Device& device, const void* x, int stride, const Weight& wo, int head, int rows, std::span<double> out);

}  // namespace kvscope::cuda
