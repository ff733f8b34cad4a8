// SPDX-License-Identifier: Apache-2.0
#include "arch/decoder.h"

namespace kvscope {
namespace {

void read_qwen_windows(const ConfigReader& config, ModelConfig& m) {
  if (!config.flag_or("use_sliding_window", false)) return;
  const int first = config.whole_or("max_window_layers", 0, 1 << 20, 28);
  read_windows(config, m, 4096, [first](int layer) { return layer >= first; });
}

ModelConfig read_qwen2(const ConfigReader& config) {
  ModelConfig m = read_decoder(config, {.max_positions = 32768, .bos_id = -1, .eos_id = -1});
  m.qkv_bias = true;
  m.out_bias = false;
  read_qwen_windows(config, m);
  return m;
}

ModelConfig read_qwen3(const ConfigReader& config) {
  ModelConfig m = read_decoder(config, {.head_dim = 128, .max_positions = 32768, .bos_id = -1, .eos_id = -1});
  read_qwen_windows(config, m);
  return m;
}

}  // namespace

/// Qwen2, Qwen2.5: biases on queries, keys and values.
extern constexpr Family qwen2_family = {.model_type = "qwen2",
                                        .read_config = read_qwen2,
                                        .bind = [](const Weights& weights, ModelFiles& model) { bind_decoder(weights, model); }};

/// Qwen3: queries and keys are normalised head by head.
extern constexpr Family qwen3_family = {
    .model_type = "qwen3", .read_config = read_qwen3, .bind = [](const Weights& weights, ModelFiles& model) {
      bind_decoder(weights, model, {.head_norm = DecoderTensors::HeadNorm::per_head});
    }};

}  // namespace kvscope
