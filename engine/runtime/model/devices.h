// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <set>
#include <string>

#include "arch/model_files.h"
#include "backend/backend.h"

namespace kvscope {

struct SessionOptions {
  DType precision = DType::f32;
  int n_threads = 0;             // 0: one per core
  std::string device = "auto";   // auto, cpu, cuda
  std::size_t record_limit = 0;  // bytes of recorded results; 0: a quarter of the machine's memory
};

/// Models with fewer weights than this run on the CPU unless CUDA is asked for: there a step is over before a device has been told what to
/// do.
inline constexpr std::size_t kWorthADevice = std::size_t{256} << 20;

/// Memory without which a run of this model cannot begin: weights, the activations of a piece of prompt, one cache of 1,024 tokens
/// with the statistics of its slots.
std::size_t least_bytes(const ModelFiles& files, DType precision);

/// Throws Error where a run of this model cannot begin in `memory` bytes of the machine. Weights are mapped, not copied, so the system may
/// throw them out and read them again: a model that is larger than the memory would do that at every token.
void check_memory(const ModelFiles& files, DType precision, double memory);

/// Quantised types of matrices that a CUDA device decodes when it loads them; it keeps others as they are (device_blocks.h).
std::set<DType> decoded_on_cuda(const ModelFiles& files);

/// What the model needs that the CUDA backend does not have, as a list for a sentence; empty: it has everything.
std::string beyond_cuda(const ModelFiles& files);

struct ChosenBackend {
  std::unique_ptr<Backend> backend;
  std::string notice;  // why it is not the device that `auto` would have liked; usually empty
};

/// auto: CUDA where it is there, knows the precision, has the memory and everything that the model needs, and the model is worth it
/// (kWorthADevice, or a precision that only it has); else the CPU. Throws Error or UsageError where what was asked for cannot be had, or
/// the model does not fit into the memory.
ChosenBackend choose_backend(const SessionOptions& options, const ModelFiles& files);

}  // namespace kvscope
