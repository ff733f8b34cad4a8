// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/rotations.h"

namespace kvscope::cuda {

void Rotations::reserve(int n) {
  if (n <= table_.n_positions() && cosines_) return;
  table_.reserve(n);
  const std::size_t size = static_cast<std::size_t>(table_.n_positions()) * static_cast<std::size_t>(table_.half()) * sizeof(float);
  cosines_ = device_.allocate(size, "rotary tables");
  sines_ = device_.allocate(size, "rotary tables");
  device_.upload(cosines_.data(), table_.cosines(0), size);
  device_.upload(sines_.data(), table_.sines(0), size);
}

}  // namespace kvscope::cuda
