// SPDX-License-Identifier: Apache-2.0
#include "arch/decoder.h"

namespace kvscope {
namespace {

ModelConfig read(const ConfigReader& config) {
  ModelConfig m = read_decoder(config);
  constexpr int usual_window = 4096;  // where the key is absent; null says that there is none
  read_windows(config, m, usual_window, [](int) { return true; });
  return m;
}

}  // namespace

/// Mistral (v0.1 with a window), Nemo.
extern constexpr Family mistral_family = {
    .model_type = "mistral", .read_config = read, .bind = [](const Weights& weights, ModelFiles& model) { bind_decoder(weights, model); }};

/// Ministral (8B of 2024), whose layer_types say which layers have the window.
extern constexpr Family ministral_family = {.model_type = "ministral",
                                            .read_config = read,
                                            .bind = [](const Weights& weights, ModelFiles& model) { bind_decoder(weights, model); }};

}  // namespace kvscope
