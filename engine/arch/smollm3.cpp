// SPDX-License-Identifier: Apache-2.0
#include "arch/decoder.h"

namespace kvscope {
namespace {

ModelConfig read(const ConfigReader& config) {
  ModelConfig m = read_decoder(config, {.max_positions = 32768, .rope_theta = 2e6, .tied = true, .bos_id = 128000, .eos_id = 128001});
  const int every = config.whole_or("no_rope_layer_interval", 1, 1 << 20, 4);
  std::vector<double> rotates;  // 1: with rotation, whatever the key's name says
  if (config.has("no_rope_layers")) rotates = config.numbers("no_rope_layers", static_cast<std::size_t>(m.n_layers), 0, 1);
  const auto is_rotated = [&](int l) { return rotates.empty() ? (l + 1) % every != 0 : rotates[static_cast<std::size_t>(l)] != 0; };
  for (int l = 0; l < m.n_layers; ++l)
    if (!is_rotated(l)) layers_of(m)[static_cast<std::size_t>(l)].rope = -1;
  if (config.flag_or("use_sliding_window", false)) read_windows(config, m, 0, [&](int l) { return !is_rotated(l); });
  return m;
}

}  // namespace

/// SmolLM3: every fourth layer without rotation.
extern constexpr Family smollm3_family = {
    .model_type = "smollm3", .read_config = read, .bind = [](const Weights& weights, ModelFiles& model) { bind_decoder(weights, model); }};

}  // namespace kvscope
