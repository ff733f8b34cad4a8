// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>

#include "backend/backend.h"
#include "backend/cuda/device.h"
#include "backend/cuda/memory.h"

namespace kvscope::cuda {

/// Arrays that ColumnSums ask for, and decays among them.
struct SumCount {
  int sums = 0, lambdas = 0;
};
SumCount count_of_sums(std::span<const ColumnSums> columns);

/// Sums over the rows of prompts' attention that the host has not got yet: those of one call at most, while the device has the next to do.
class SumsUnderWay {
 public:
  SumsUnderWay();
  ~SumsUnderWay();
  SumsUnderWay(const SumsUnderWay&) = delete;
  SumsUnderWay& operator=(const SumsUnderWay&) = delete;

  /// The part of attend_prompt() that sums over rows, or gives rows out. args: of the attention, which has been started.
  void start(Device& device, const ModelConfig& config, const PromptAttentionJob& job, const PromptArgs& args);
  void finish();

 private:
  class Pass;
  std::unique_ptr<Pass> under_way_;
  PinnedMemory host_[2];  // in turn
  Event done_[2];
  int next_ = 0;
};

}  // namespace kvscope::cuda
