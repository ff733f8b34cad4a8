// SPDX-License-Identifier: Apache-2.0
#include "arch/decoder.h"

namespace kvscope {
namespace {

ModelConfig read(const ConfigReader& config) {
  ModelConfig m = read_decoder(config, {.max_positions = 4096, .norm_eps = 1e-5, .partial_rotation = true, .eos_id = 32000});
  read_windows(config, m, 0, [](int) { return true; });
  return m;
}

}  // namespace

/// Phi-3, Phi-3.5-mini, Phi-4, Phi-4-mini: fused matrices, longrope, a part of each head rotated.
extern constexpr Family phi3_family = {.model_type = "phi3", .read_config = read, .bind = [](const Weights& weights, ModelFiles& model) {
                                         bind_decoder(weights, model, {.fused = true});
                                       }};

}  // namespace kvscope
