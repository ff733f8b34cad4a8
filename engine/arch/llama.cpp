// SPDX-License-Identifier: Apache-2.0
#include "arch/llama.h"

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <string>

#include "core/error.h"
#include "io/quote_name.h"

namespace kvscope {
namespace {

constexpr int kMaxDim = (1 << 20) - 1;        // of every dimension
constexpr int kMaxPositions = (1 << 30) - 1;  // tokens

/// `rope_scaling`, or the kind inside `rope_parameters` (transformers 5). Kinds as in transformers' modeling_rope_utils.
RopeScaling read_rope_scaling(const ConfigReader& config, int max_positions) {
  const auto rope = config.object(config.has("rope_scaling") ? "rope_scaling" : "rope_parameters");
  RopeScaling scaling;
  if (!rope) return scaling;
  const std::string kind = rope->text_or("rope_type", rope->text_or("type", "default"));
  if (kind == "default") return scaling;
  if (kind != "linear" && kind != "llama3") {
    rope->fail("rope_type", fmt::format("unknown kind of scaling {} (known: default, linear, llama3)", quote_name(kind)));
  }
  scaling.factor = rope->number("factor", 1, 1e6);
  if (kind == "linear") {
    scaling.kind = RopeScaling::Kind::linear;
    return scaling;
  }
  scaling.kind = RopeScaling::Kind::llama3;
  scaling.low_freq_factor = rope->number("low_freq_factor", 1e-6, 1e6);
  scaling.high_freq_factor = rope->number("high_freq_factor", 1e-6, 1e6);
  if (scaling.high_freq_factor <= scaling.low_freq_factor) {
    rope->fail("high_freq_factor",
               fmt::format("expected more than low_freq_factor = {}, got {}", scaling.low_freq_factor, scaling.high_freq_factor));
  }
  scaling.original_max_position = rope->whole_or("original_max_position_embeddings", 1, kMaxPositions, max_positions);
  return scaling;
}

double read_rope_theta(const ConfigReader& config) {
  constexpr double low = 1, high = 1e12, usual = 10000;
  std::optional<double> theta;
  if (config.has("rope_theta")) theta = config.number("rope_theta", low, high);
  for (const char* key : {"rope_parameters", "rope_scaling"}) {
    const auto rope = config.object(key);
    if (!rope || !rope->has("rope_theta")) continue;
    const double inner = rope->number("rope_theta", low, high);
    // Programs differ in which of them they take, and the logits with them.
    if (theta && *theta != inner)
      rope->fail("rope_theta",
                 fmt::format("expected {} as elsewhere in the file, got {}; keep the one the model was trained with", *theta, inner));
    theta = inner;
  }
  return theta.value_or(usual);
}

/// What the forward pass has no code for must not run as if it were not there.
void refuse_unsupported(const ConfigReader& config) {
  if (const std::string act = config.text_or("hidden_act", "silu"); act != "silu" && act != "swish") {
    config.fail("hidden_act", fmt::format("expected silu, got {}", quote_name(act)));
  }
  for (const char* key : {"attention_bias", "mlp_bias"}) {
    if (config.flag_or(key, false)) config.fail(key, "expected false, got true; projection biases are not supported");
  }
  if (config.object("quantization_config"))
    config.fail("quantization_config", "quantized weights are not read; use the F16, BF16 or F32 checkpoint");
  const auto rope = config.object("rope_parameters");
  for (const ConfigReader* place : {&config, rope ? &*rope : nullptr}) {
    if (place && place->number_or("partial_rotary_factor", 0, 1, 1) != 1)
      place->fail("partial_rotary_factor", "expected 1, partial rotation is not supported");
  }
}

/// n_a * n_b must stay a dimension like any other.
void check_product(const ConfigReader& config, const char* key, int heads, int head_dim) {
  if (std::int64_t(heads) * head_dim > kMaxDim) {
    config.fail(key, fmt::format("expected heads * head_dim of at most {}, got {} * {}", kMaxDim, heads, head_dim));
  }
}

int read_head_dim(const ConfigReader& config, int dim, int n_heads) {
  if (!config.has("head_dim") && dim % n_heads != 0) {
    config.fail("head_dim", fmt::format("is missing, and hidden_size = {} is not a multiple of num_attention_heads = {}", dim, n_heads));
  }
  const int head_dim = config.whole_or("head_dim", 1, kMaxDim, dim / n_heads);
  if (head_dim % 2 != 0) config.fail("head_dim", fmt::format("expected an even number (rotary pairs), got {}", head_dim));
  return head_dim;
}

}  // namespace

ModelConfig read_llama_config(const ConfigReader& config) {
  refuse_unsupported(config);
  ModelConfig m;
  m.dim = config.whole("hidden_size", 1, kMaxDim);
  m.hidden_dim = config.whole("intermediate_size", 1, kMaxDim);
  m.n_layers = config.whole("num_hidden_layers", 1, kMaxDim);
  m.n_heads = config.whole("num_attention_heads", 1, kMaxDim);
  m.n_kv_heads = config.whole_or("num_key_value_heads", 1, kMaxDim, m.n_heads);
  if (m.n_heads % m.n_kv_heads != 0) {
    config.fail("num_key_value_heads", fmt::format("expected a divisor of num_attention_heads = {}, got {}", m.n_heads, m.n_kv_heads));
  }
  m.head_dim = read_head_dim(config, m.dim, m.n_heads);
  check_product(config, "num_attention_heads", m.n_heads, m.head_dim);
  m.vocab_size = config.whole("vocab_size", 1, kMaxDim);
  m.max_positions = config.whole_or("max_position_embeddings", 1, kMaxPositions, 2048);
  m.norm_eps = config.number_or("rms_norm_eps", 0, 1, 1e-6);
  m.rope_theta = read_rope_theta(config);
  m.rope_scaling = read_rope_scaling(config, m.max_positions);
  m.tied_embeddings = config.flag_or("tie_word_embeddings", false);
  // The defaults of the family hold where the key is absent; null says that there is no such token.
  m.bos_id = config.token_id("bos_token_id", m.vocab_size).value_or(config.is_null("bos_token_id") || m.vocab_size <= 1 ? -1 : 1);
  m.eos_id = config.token_id("eos_token_id", m.vocab_size).value_or(config.is_null("eos_token_id") || m.vocab_size <= 2 ? -1 : 2);
  return m;
}

ModelConfig read_mistral_config(const ConfigReader& config) {
  const ModelConfig m = read_llama_config(config);
  constexpr int usual_window = 4096;  // of transformers' MistralConfig, where the key is absent
  const int window = config.is_null("sliding_window") ? m.max_positions : config.whole_or("sliding_window", 1, kMaxPositions, usual_window);
  if (window < m.max_positions) {
    config.fail("sliding_window",
                fmt::format("sliding windows are not supported: expected null or at least max_position_embeddings = {}, got {}{}",
                            m.max_positions, window, config.has("sliding_window") ? "" : " (the family's default, the key is absent)"));
  }
  return m;
}

void bind_llama_tensors(const Weights& weights, ModelFiles& model) {
  const ModelConfig& c = model.config;
  const ExpectedDim vocab{"vocab_size", c.vocab_size}, dim{"dim", c.dim}, hidden{"hidden_dim", c.hidden_dim};
  const ExpectedDim q{"n_heads * head_dim", c.q_dim()}, kv{"n_kv_heads * head_dim", c.kv_dim()};

  const std::string beyond = fmt::format("model.layers.{}.", c.n_layers);
  for (const std::string& name : weights.names()) {
    if (name.ends_with("_proj.bias"))
      throw Error(fmt::format("{}: tensor {}: projection biases are not supported", model.folder, quote_name(name)));
    if (name.starts_with(beyond)) {
      throw Error(fmt::format("{}: tensor {} belongs to a layer beyond num_hidden_layers = {} of config.json", model.folder,
                              quote_name(name), c.n_layers));
    }
  }

  model.embedding = weights.get("model.embed_tokens.weight", {vocab, dim});
  model.final_norm = weights.get("model.norm.weight", {dim});
  model.lm_head = c.tied_embeddings ? model.embedding : weights.get("lm_head.weight", {vocab, dim});
  for (int l = 0; l < c.n_layers; ++l) {
    const auto get = [&](const char* part, const std::vector<ExpectedDim>& shape) {
      return weights.get(fmt::format("model.layers.{}.{}.weight", l, part), shape);
    };
    LayerTensors layer;
    layer.attn_norm = get("input_layernorm", {dim});
    layer.wq = get("self_attn.q_proj", {q, dim});
    layer.wk = get("self_attn.k_proj", {kv, dim});
    layer.wv = get("self_attn.v_proj", {kv, dim});
    layer.wo = get("self_attn.o_proj", {dim, q});
    layer.ffn_norm = get("post_attention_layernorm", {dim});
    layer.w_gate = get("mlp.gate_proj", {hidden, dim});
    layer.w_up = get("mlp.up_proj", {hidden, dim});
    layer.w_down = get("mlp.down_proj", {dim, hidden});
    model.layers.push_back(std::move(layer));
  }
}

}  // namespace kvscope
