// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "arch/decoder.h"
#include "arch/rope_keys.h"

namespace kvscope {
namespace {

constexpr double kLow = 1e-6, kHigh = 1e6;

DecoderDefaults defaults() {
  return {.head_dim = 256, .max_positions = 8192, .tied = true, .activation = Activation::gelu_tanh, .bos_id = 2, .eos_id = 1};
}

ModelConfig read_any(const ConfigReader& config, const DecoderDefaults& defaults) {
  ModelConfig m = read_decoder(config, defaults);
  m.embedding_scale = std::sqrt(static_cast<double>(m.dim));
  return m;
}

double cap_or(const ConfigReader& config, const char* key, double usual) {
  return config.is_null(key) ? 0 : config.number_or(key, kLow, kHigh, usual);
}

/// Both have a scale of their own, caps and layers with windows. every: of so many layers the last sees all. caps: where the keys are
/// absent.
void read_layers(const ConfigReader& config, ModelConfig& m, int every, double logit_cap, double final_cap) {
  for (LayerConfig& layer : layers_of(m))
    layer.logits = {.scale = 1 / std::sqrt(config.number_or("query_pre_attn_scalar", kLow, kHigh, 256)),
                    .cap = cap_or(config, "attn_logit_softcapping", logit_cap)};
  m.logit_cap = cap_or(config, "final_logit_softcapping", final_cap);
  read_windows(config, m, 4096, [every](int layer) { return (layer + 1) % every != 0; });
}

ModelConfig read_gemma2(const ConfigReader& config) {
  ModelConfig m = read_any(config, defaults());
  read_layers(config, m, 2, 50, 30);
  return m;
}

/// Layers with windows have a table of rotations of their own. Files of the Hub leave out what transformers' defaults say.
ModelConfig read_gemma3(const ConfigReader& config) {
  DecoderDefaults usual = defaults();
  usual.n_heads = 8;
  usual.n_kv_heads = 4;
  usual.vocab_size = 262208;
  usual.max_positions = 131072;
  usual.rope_theta = 1e6;
  ModelConfig m = read_any(config, usual);
  const int every = config.whole_or("sliding_window_pattern", 1, 1 << 20, config.whole_or("_sliding_window_pattern", 1, 1 << 20, 6));
  read_layers(config, m, every, 0, 0);
  const RopeShape shape{.head_dim = m.head_dim, .max_positions = m.max_positions};
  const double local_theta = config.number_or("rope_local_base_freq", 1, 1e12, 10000);
  const auto both = config.object("rope_parameters");
  const auto of_all = both ? both->object("full_attention") : std::nullopt,
             of_windows = both ? both->object("sliding_attention") : std::nullopt;
  if (of_all) m.ropes = read_ropes(config, of_all, {.head_dim = m.head_dim, .max_positions = m.max_positions, .theta = usual.rope_theta});
  Rope local;
  local.theta = local_theta;
  if (of_windows) local = read_ropes(config, of_windows, shape).front();
  m.ropes.push_back(local);
  // a layer is called sliding even where its window covers every position
  const std::vector<std::string> kinds =
      config.has("layer_types") ? config.texts("layer_types", m.layers.size()) : std::vector<std::string>();
  for (std::size_t l = 0; l < m.layers.size(); ++l)
    if (kinds.empty() ? (l + 1) % static_cast<std::size_t>(every) != 0 : kinds[l] == "sliding_attention")
      m.layers[l].rope = static_cast<int>(m.ropes.size()) - 1;
  return m;
}

constexpr DecoderTensors kNormsOnBothSides = {.attn_norm = "input_layernorm",
                                              .attn_after_norm = "post_attention_layernorm",
                                              .ffn_norm = "pre_feedforward_layernorm",
                                              .ffn_after_norm = "post_feedforward_layernorm",
                                              .norms_lack_one = true};

}  // namespace

extern constexpr Family gemma_family = {
    .model_type = "gemma",
    .read_config = [](const ConfigReader& config) { return read_any(config, defaults()); },
    .bind = [](const Weights& weights, ModelFiles& model) { bind_decoder(weights, model, {.norms_lack_one = true}); }};

/// Gemma 2: caps, every second layer with a window, norms before and after.
extern constexpr Family gemma2_family = {
    .model_type = "gemma2", .read_config = read_gemma2, .bind = [](const Weights& weights, ModelFiles& model) {
      bind_decoder(weights, model, kNormsOnBothSides);
    }};

/// Gemma 3, the text models and the text part of the others: norms of queries and keys instead of caps, two tables of rotations.
extern constexpr Family gemma3_text_family = {
    .model_type = "gemma3_text", .read_config = read_gemma3, .bind = [](const Weights& weights, ModelFiles& model) {
      DecoderTensors tensors = kNormsOnBothSides;
      tensors.head_norm = DecoderTensors::HeadNorm::per_head;
      bind_decoder(weights, model, tensors);
    }};

}  // namespace kvscope
