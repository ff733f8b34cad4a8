// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "backend/backend.h"
#include "backend/cuda/device.h"

namespace kvscope::cuda {

// What policies ask about the keys in caches, as backend.h says.

void cosines(Device& device, const HeadKv& kv, std::span<const int> from, std::span<const int> to, std::span<double> out);
void nearest(Device& device, std::span<const NearestJob> jobs);
void key_rows(Device& device, std::span<const KeyRowsJob> jobs);
void keys(Device& device, const HeadKv& kv, std::span<double> out);

}  // namespace kvscope::cuda
