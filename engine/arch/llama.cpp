// SPDX-License-Identifier: Apache-2.0
#include "arch/decoder.h"

namespace kvscope {

/// Llama 1 to 3.x and all that says llama in its config.json (SmolLM2, TinyLlama, Yi, ...).
extern constexpr Family llama_family = {.model_type = "llama",
                                        .read_config = [](const ConfigReader& config) { return read_decoder(config); },
                                        .bind = [](const Weights& weights, ModelFiles& model) { bind_decoder(weights, model); }};

}  // namespace kvscope
