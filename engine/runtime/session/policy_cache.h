// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <tuple>

#include "backend/backend.h"
#include "policy/policy.h"
#include "runtime/model/run_files.h"

namespace kvscope {

/// What the runs of one model decide by: one policy per specification, prompt length, mode and seed, made once and copied by the lanes that
/// decide with it. Files that keys name are looked at in every request, and read again where they have changed.
class PolicyCache {
 public:
  /// config, backend: live longer.
  PolicyCache(const ModelConfig& config, std::string folder, const Backend& backend)
      : config_(&config), files_(std::move(folder)), backend_(&backend) {}

  struct Text {
    std::span<const int> prompt;  // ids
    PromptMode mode = PromptMode::prefill;
    std::uint64_t seed = 0;
  };
  /// Throws UsageError where such a run cannot be.
  std::shared_ptr<const Policy> of(const LaneSpec& spec, const Text& text);
  /// Ends a request: what it did not ask for goes.
  void forget_unused();

 private:
  using Key = std::tuple<std::string, int, PromptMode, std::uint64_t>;
  struct Known {
    std::shared_ptr<const Policy> policy;
    GivenFiles files;  // it was made with
    bool used = true;
  };

  const ModelConfig* config_;
  RunFiles files_;
  const Backend* backend_;
  std::map<Key, Known> known_;
};

}  // namespace kvscope
