// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/rotations.h"

namespace kvscope::cuda {

void Rotations::reserve(int n) {
  if (n <= n_ && cosines_) return;
  const std::shared_ptr<const cpu::RopeRows<float>> rows = table_.rows(n);
  n_ = rows->n;
  const std::size_t size = rows->all_cosines.size() * sizeof(float);
  cosines_ = device_.allocate(size, "rotary tables");
  sines_ = device_.allocate(size, "rotary tables");
  device_.upload(cosines_.data(), rows->cosines(0), size);
  device_.upload(sines_.data(), rows->sines(0), size);
}

}  // namespace kvscope::cuda
