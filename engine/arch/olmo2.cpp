// SPDX-License-Identifier: Apache-2.0
#include "arch/decoder.h"

namespace kvscope {

/// OLMo 2: norms of what attention and feed-forward part leave, none before them; queries and keys normalised as whole rows.
extern constexpr Family olmo2_family = {
    .model_type = "olmo2",
    .read_config = [](const ConfigReader& config) { return read_decoder(config, {.norm_eps = 1e-5, .bos_id = -1, .eos_id = 50279}); },
    .bind =
        [](const Weights& weights, ModelFiles& model) {
          bind_decoder(weights, model,
                       {.attn_norm = nullptr,
                        .attn_after_norm = "post_attention_layernorm",
                        .ffn_norm = nullptr,
                        .ffn_after_norm = "post_feedforward_layernorm",
                        .head_norm = DecoderTensors::HeadNorm::whole});
        }};

}  // namespace kvscope
