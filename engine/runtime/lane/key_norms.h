// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "backend/backend.h"

namespace kvscope {

/// ||k|| of keys [rows, head_dim] in backend memory, into out [rows].
void key_norms(Backend& backend, const void* k, int head_dim, std::span<double> out);

}  // namespace kvscope
