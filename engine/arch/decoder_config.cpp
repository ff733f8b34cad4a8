// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cstdint>
#include <string>

#include "arch/decoder.h"
#include "arch/rope_keys.h"
#include "io/quote_name.h"

namespace kvscope {
namespace {

constexpr int kMaxDim = (1 << 20) - 1;        // of every dimension
constexpr int kMaxPositions = (1 << 30) - 1;  // tokens

/// What the forward pass has no code for must not run as if it were not there.
void refuse_unsupported(const ConfigReader& config) {
  if (config.object("quantization_config"))
    config.fail("quantization_config", "quantized weights are not read; use the F16, BF16 or F32 checkpoint");
  for (const char* key : {"num_experts", "num_local_experts", "n_routed_experts"})
    if (config.has(key) && config.whole(key, 0, kMaxDim) > 1)
      config.fail(key,
                  "expected none, this checkpoint has experts (MoE): each token runs through some of them, and here is one path for all");
  if (config.has("kv_lora_rank"))
    config.fail("kv_lora_rank", "expected none, this checkpoint caches one compressed vector per token instead of keys and values (MLA)");
  if (config.flag_or("use_bidirectional_attention", false))
    config.fail("use_bidirectional_attention", "expected false, got true: tokens that see what follows them cannot be generated");
}

Activation read_activation(const ConfigReader& config, Activation usual) {
  const char* key = config.has("hidden_activation") ? "hidden_activation" : "hidden_act";
  if (!config.has(key)) return usual;
  const std::string name = config.text(key);
  if (name == "silu" || name == "swish") return Activation::silu;
  // old files of families that were trained with the tanh form say gelu and mean it
  if (name == "gelu_pytorch_tanh" || (name == "gelu" && usual == Activation::gelu_tanh)) return Activation::gelu_tanh;
  config.fail(key, fmt::format("expected silu or gelu_pytorch_tanh, got {}", quote_name(name)));
}

int whole_or_default(const ConfigReader& config, const char* key, int usual) {
  return usual > 0 ? config.whole_or(key, 1, kMaxDim, usual) : config.whole(key, 1, kMaxDim);
}

/// n_a * n_b must stay a dimension like any other.
void check_product(const ConfigReader& config, const char* key, int heads, int head_dim) {
  if (std::int64_t(heads) * head_dim > kMaxDim) {
    config.fail(key, fmt::format("expected heads * head_dim of at most {}, got {} * {}", kMaxDim, heads, head_dim));
  }
}

int read_head_dim(const ConfigReader& config, int dim, int n_heads, int usual) {
  if (!config.has("head_dim") && usual == 0 && dim % n_heads != 0) {
    config.fail("head_dim", fmt::format("is missing, and hidden_size = {} is not a multiple of num_attention_heads = {}", dim, n_heads));
  }
  const int head_dim = config.whole_or("head_dim", 1, kMaxDim, usual > 0 ? usual : dim / n_heads);
  if (head_dim % 2 != 0) config.fail("head_dim", fmt::format("expected an even number (rotary pairs), got {}", head_dim));
  return head_dim;
}

/// The default of the family holds where the key is absent; null says that there is no such token.
int read_token(const ConfigReader& config, const char* key, int vocab_size, int usual) {
  return config.token_id(key, vocab_size).value_or(config.is_null(key) || vocab_size <= usual ? -1 : usual);
}

}  // namespace

ModelConfig read_decoder(const ConfigReader& config, const DecoderDefaults& defaults) {
  refuse_unsupported(config);
  ModelConfig m;
  m.activation = read_activation(config, defaults.activation);
  m.dim = config.whole("hidden_size", 1, kMaxDim);
  m.hidden_dim = config.whole("intermediate_size", 1, kMaxDim);
  m.n_layers = config.whole("num_hidden_layers", 1, kMaxDim);
  m.n_heads = whole_or_default(config, "num_attention_heads", defaults.n_heads);
  m.n_kv_heads = config.whole_or("num_key_value_heads", 1, kMaxDim, defaults.n_kv_heads > 0 ? defaults.n_kv_heads : m.n_heads);
  if (m.n_heads % m.n_kv_heads != 0) {
    config.fail("num_key_value_heads", fmt::format("expected a divisor of num_attention_heads = {}, got {}", m.n_heads, m.n_kv_heads));
  }
  m.head_dim = read_head_dim(config, m.dim, m.n_heads, defaults.head_dim);
  check_product(config, "num_attention_heads", m.n_heads, m.head_dim);
  m.vocab_size = whole_or_default(config, "vocab_size", defaults.vocab_size);
  m.max_positions = config.whole_or("max_position_embeddings", 1, kMaxPositions, defaults.max_positions);
  m.norm_eps = config.number_or("rms_norm_eps", 0, 1, defaults.norm_eps);
  m.ropes = read_ropes(config, {.head_dim = m.head_dim,
                                .max_positions = m.max_positions,
                                .theta = defaults.rope_theta,
                                .may_be_partial = defaults.partial_rotation});
  m.qkv_bias = m.out_bias = config.flag_or("attention_bias", false);
  m.mlp_bias = config.flag_or("mlp_bias", false);
  m.tied_embeddings = config.flag_or("tie_word_embeddings", defaults.tied);
  m.bos_id = read_token(config, "bos_token_id", m.vocab_size, defaults.bos_id);
  m.eos_id = read_token(config, "eos_token_id", m.vocab_size, defaults.eos_id);
  return m;
}

std::vector<LayerConfig>& layers_of(ModelConfig& model) {
  if (model.layers.empty()) model.layers.resize(static_cast<std::size_t>(model.n_layers));
  return model.layers;
}

void read_windows(const ConfigReader& config, ModelConfig& model, int usual, const std::function<bool(int)>& slides) {
  constexpr const char* key = "sliding_window";
  const int window = config.is_null(key) ? 0 : config.has(key) || usual > 0 ? config.whole_or(key, 1, kMaxPositions, usual) : 0;
  std::vector<std::string> kinds;
  if (config.has("layer_types")) kinds = config.texts("layer_types", static_cast<std::size_t>(model.n_layers));
  for (const std::string& kind : kinds)
    if (kind != "full_attention" && kind != "sliding_attention")
      config.fail("layer_types", fmt::format("expected full_attention or sliding_attention, got {}", quote_name(kind)));
  if (window == 0 || window >= model.max_positions) return;
  for (int l = 0; l < model.n_layers; ++l)
    if (kinds.empty() ? slides(l) : kinds[static_cast<std::size_t>(l)] == "sliding_attention")
      layers_of(model)[static_cast<std::size_t>(l)].window = window;
}

}  // namespace kvscope
