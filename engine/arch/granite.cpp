// SPDX-License-Identifier: Apache-2.0
#include "arch/decoder.h"

namespace kvscope {
namespace {

ModelConfig read(const ConfigReader& config) {
  constexpr double low = 1e-6, high = 1e6;
  ModelConfig m = read_decoder(config);
  m.embedding_scale = config.number_or("embedding_multiplier", low, high, 1);
  m.residual_scale = config.number_or("residual_multiplier", low, high, 1);
  m.logit_scale = 1 / config.number_or("logits_scaling", low, high, 1);
  for (LayerConfig& layer : layers_of(m)) layer.logits.scale = config.number_or("attention_multiplier", low, high, 1);
  return m;
}

}  // namespace

/// Granite 3: four scalars.
extern constexpr Family granite_family = {
    .model_type = "granite", .read_config = read, .bind = [](const Weights& weights, ModelFiles& model) { bind_decoder(weights, model); }};

}  // namespace kvscope
