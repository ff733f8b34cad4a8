// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/cpu/rope.h"
#include "backend/cuda/device.h"
#include "core/config.h"

namespace kvscope::cuda {

/// Cosines and sines of positions on a device, made on the host in double as the CPU backend makes them.
class Rotations {
 public:
  Rotations(Device& device, const ModelConfig& config) : device_(device), table_(config) {}

  /// There are those of positions [0, n) from now on.
  void reserve(int n);
  int half() const { return table_.half(); }
  const float* cosines() const { return cosines_.as<float>(); }  // [positions, half]
  const float* sines() const { return sines_.as<float>(); }

 private:
  Device& device_;
  cpu::RopeTable<float> table_;
  int n_ = 0;  // positions that are there
  Buffer cosines_, sines_;
};

}  // namespace kvscope::cuda
