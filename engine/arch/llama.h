// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "arch/family.h"

namespace kvscope {

ModelConfig read_llama_config(const ConfigReader& config);
/// Llama's keys; a sliding window that would cut the attention is refused.
ModelConfig read_mistral_config(const ConfigReader& config);
void bind_llama_tensors(const Weights& weights, ModelFiles& model);

}  // namespace kvscope
