// SPDX-License-Identifier: Apache-2.0
#include "arch/gguf_architecture.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>

#include "io/quote_name.h"

namespace kvscope {
namespace {

using nlohmann::json;

constexpr std::array kArchitectures = {
    GgufArchitecture{"llama", "llama", true},
    GgufArchitecture{"qwen2", "qwen2"},
    GgufArchitecture{"qwen3", "qwen3"},
};

struct Renamed {
  std::string_view gguf, safetensors;
};
constexpr std::array kOfModel = {Renamed{"token_embd", "model.embed_tokens"}, Renamed{"output_norm", "model.norm"},
                                 Renamed{"output", "lm_head"}};
constexpr std::array kOfLayer = {
    Renamed{"attn_norm", "input_layernorm"},    Renamed{"attn_q", "self_attn.q_proj"},
    Renamed{"attn_k", "self_attn.k_proj"},      Renamed{"attn_v", "self_attn.v_proj"},
    Renamed{"attn_output", "self_attn.o_proj"}, Renamed{"attn_q_norm", "self_attn.q_norm"},
    Renamed{"attn_k_norm", "self_attn.k_norm"}, Renamed{"ffn_norm", "post_attention_layernorm"},
    Renamed{"ffn_gate", "mlp.gate_proj"},       Renamed{"ffn_up", "mlp.up_proj"},
    Renamed{"ffn_down", "mlp.down_proj"},
};
constexpr std::string_view kLayer = "blk.", kOurLayer = "model.layers.";

/// "blk.3.attn_q.weight" -> "3", "attn_q", "weight" behind the prefix; no number where it has no layer.
struct Parts {
  std::string_view layer, part, kind;
};
Parts parts_of(std::string_view name, std::string_view prefix) {
  Parts out;
  if (name.starts_with(prefix)) {
    name.remove_prefix(prefix.size());
    const std::size_t dot = name.find('.');
    out.layer = name.substr(0, dot);
    name.remove_prefix(std::min(name.size(), dot + 1));
  }
  const std::size_t dot = name.rfind('.');
  out.part = name.substr(0, dot);
  if (dot != name.npos) out.kind = name.substr(dot + 1);
  return out;
}

std::string renamed(std::string_view name, std::string_view prefix, std::string_view other_prefix, std::string_view Renamed::*from,
                    std::string_view Renamed::*to) {
  const Parts parts = parts_of(name, prefix);
  const std::span<const Renamed> names = parts.layer.empty() ? std::span<const Renamed>(kOfModel) : std::span<const Renamed>(kOfLayer);
  for (const Renamed& one : names) {
    if (one.*from != parts.part) continue;
    const std::string begin = parts.layer.empty() ? "" : fmt::format("{}{}.", other_prefix, parts.layer);
    return fmt::format("{}{}.{}", begin, one.*to, parts.kind);
  }
  return std::string(name);
}

/// Reads the keys of one architecture.
class Keys {
 public:
  Keys(std::span<const GgufFile> parts, std::string_view architecture)
      : parts_(parts), file_(parts[0]), prefix_(fmt::format("{}.", architecture)) {}

  const GgufFile& file() const { return file_; }
  /// nullptr: there is none that can be read.
  const TensorView* tensor(const std::string& name) const {
    for (const GgufFile& part : parts_) {
      const auto found = part.tensors().tensors().find(name);
      if (found != part.tensors().tensors().end()) return &found->second;
    }
    return nullptr;
  }
  bool has_tensor(const std::string& name) const {
    return tensor(name) || std::ranges::any_of(parts_, [&](const GgufFile& part) { return part.tensors().others().contains(name); });
  }
  std::string key(std::string_view part) const { return prefix_ + std::string(part); }
  const GgufValue* find(std::string_view part) const { return file_.find(key(part)); }
  std::int64_t whole(std::string_view part) const { return file_.whole(key(part)); }
  double real(std::string_view part) const {
    const GgufValue* value = find(part);
    if (!value) file_.fail(key(part), "is missing, expected a number");
    if (value->is_list() || value->is_text() || value->is_flag()) file_.fail(key(part), "expected a number, got something else");
    return value->real();
  }
  /// The value under a name of config.json, where it is given.
  void copy_whole(std::string_view part, const char* to, json& out) const {
    if (find(part)) out[to] = whole(part);
  }
  void copy_real(std::string_view part, const char* to, json& out) const {
    if (find(part)) out[to] = real(part);
  }

 private:
  std::span<const GgufFile> parts_;
  const GgufFile& file_;
  std::string prefix_;
};

/// What the forward pass has no code for must not run as if it were not there.
void refuse_unsupported(const Keys& keys) {
  for (const char* part : {"logit_scale", "embedding_scale", "residual_scale", "attention.scale", "attn_logit_softcapping",
                           "final_logit_softcapping", "attention.layer_norm_epsilon", "attention.max_alibi_bias", "attention.clamp_kqv"}) {
    if (keys.find(part)) keys.file().fail(keys.key(part), "is not supported: expected no such key");
  }
  if (keys.find("expert_count") && keys.whole("expert_count") != 0)
    keys.file().fail(keys.key("expert_count"),
                     fmt::format("mixtures of experts are not supported: expected 0, got {}", keys.whole("expert_count")));
  if (keys.find("attention.value_length") && keys.find("attention.key_length") &&
      keys.whole("attention.value_length") != keys.whole("attention.key_length"))
    keys.file().fail(keys.key("attention.value_length"), "expected as many dimensions as keys have");
}

/// Divisors of the rotary frequencies by the formula of Llama 3.1 (transformers' modeling_rope_utils, _compute_llama3_parameters).
double llama3_divisor(double frequency, double factor, double original) {
  constexpr double low = 1, high = 4;
  const double turns = original * frequency / (2 * std::numbers::pi);
  if (turns < low) return factor;
  if (turns > high) return 1;
  const double mix = (turns - low) / (high - low);
  return 1 / ((1 - mix) / factor + mix);
}

/// A file has the divisors as they come out (rope_freqs.weight), a config.json the numbers that they are made of. These are found again,
/// and checked against every divisor.
json scaling_of_divisors(const GgufFile& file, const TensorView& tensor, double theta) {
  std::vector<float> divisors(tensor.bytes.size() / sizeof(float));
  std::copy_n(tensor.bytes.data(), divisors.size() * sizeof(float), reinterpret_cast<std::byte*>(divisors.data()));
  if (tensor.dtype != DType::f32 || divisors.empty()) file.fail("rope_freqs.weight", "expected a list of F32");
  constexpr double kRounding = 1e-5;
  const double factor = divisors.back(), dims = 2.0 * static_cast<double>(divisors.size());
  constexpr int kMostBits = 24;  // of the original length
  for (int bits = 4; bits <= kMostBits && factor >= 1; ++bits) {
    const double original = std::ldexp(1.0, bits);
    bool fits = true;
    for (std::size_t i = 0; i < divisors.size(); ++i) {
      const double frequency = std::pow(theta, -2.0 * static_cast<double>(i) / dims);
      fits = fits && std::abs(divisors[i] / llama3_divisor(frequency, factor, original) - 1) < kRounding;
    }
    if (fits)
      return {{"rope_type", "llama3"},
              {"factor", factor},
              {"low_freq_factor", 1},
              {"high_freq_factor", 4},
              {"original_max_position_embeddings", 1 << bits}};
  }
  file.fail("rope_freqs.weight", "expected divisors of the frequencies as Llama 3.1 has them, got others");
}

/// null: none.
json scaling_of(const Keys& keys, double theta) {
  if (const TensorView* divisors = keys.tensor("rope_freqs.weight")) return scaling_of_divisors(keys.file(), *divisors, theta);
  const std::string kind(keys.file().text_or(keys.key("rope.scaling.type"), "none"));
  if (kind == "none") return nullptr;
  json out = {{"rope_type", kind}};
  keys.copy_real("rope.scaling.factor", "factor", out);
  keys.copy_real("rope.scaling.yarn_beta_fast", "beta_fast", out);
  keys.copy_real("rope.scaling.yarn_beta_slow", "beta_slow", out);
  keys.copy_real("rope.scaling.attn_factor", "attention_factor", out);
  keys.copy_whole("rope.scaling.original_context_length", "original_max_position_embeddings", out);
  return out;
}

std::int64_t vocab_size(const Keys& keys) {
  if (const TensorView* embedding = keys.tensor("token_embd.weight")) return embedding->shape[0];
  const GgufValue* tokens = keys.file().texts("tokenizer.ggml.tokens");
  return tokens ? static_cast<std::int64_t>(tokens->size()) : 0;
}

/// An id under a key of the tokenizer; null: none.
json id_or_null(const GgufFile& file, const char* key) { return file.find(key) ? json(file.whole(key)) : json(nullptr); }

}  // namespace

const GgufArchitecture& gguf_architecture(const GgufFile& file) {
  constexpr std::string_view kKey = "general.architecture";
  const std::string_view name = file.text(kKey);
  const auto found = std::ranges::find(kArchitectures, name, &GgufArchitecture::name);
  if (found != kArchitectures.end()) return *found;
  std::string known;
  for (const GgufArchitecture& one : kArchitectures) known += fmt::format("{}{}", known.empty() ? "" : ", ", one.name);
  file.fail(kKey, fmt::format("unknown architecture {} (known: {})", quote_name(name), known));
}

std::string config_of_gguf(std::span<const GgufFile> parts, const GgufArchitecture& architecture) {
  const Keys keys(parts, architecture.name);
  const GgufFile& file = keys.file();
  refuse_unsupported(keys);
  const double theta = keys.find("rope.freq_base") ? keys.real("rope.freq_base") : 10000;
  json out = {{"model_type", architecture.model_type},
              {"hidden_size", keys.whole("embedding_length")},
              {"intermediate_size", keys.whole("feed_forward_length")},
              {"num_hidden_layers", keys.whole("block_count")},
              {"num_attention_heads", keys.whole("attention.head_count")},
              {"vocab_size", vocab_size(keys)},
              {"max_position_embeddings", keys.whole("context_length")},
              {"rms_norm_eps", keys.real("attention.layer_norm_rms_epsilon")},
              {"rope_theta", theta},
              {"tie_word_embeddings", !keys.has_tensor("output.weight")},
              {"bos_token_id", id_or_null(file, "tokenizer.ggml.bos_token_id")},
              {"eos_token_id", id_or_null(file, "tokenizer.ggml.eos_token_id")}};
  keys.copy_whole("attention.head_count_kv", "num_key_value_heads", out);
  keys.copy_whole("attention.key_length", "head_dim", out);
  if (const json scaling = scaling_of(keys, theta); !scaling.is_null()) out["rope_scaling"] = scaling;
  // Texts end at the end of a turn, too.
  if (const json turn = id_or_null(file, "tokenizer.ggml.eot_token_id");
      !turn.is_null() && !out["eos_token_id"].is_null() && turn != out["eos_token_id"])
    out["eos_token_id"] = {out["eos_token_id"], turn};
  if (const std::string_view name = file.text_or("general.name", ""); !name.empty()) out["name"] = name;
  const std::int64_t heads = keys.whole("attention.head_count");
  const std::int64_t head_dim = keys.find("attention.key_length") ? keys.whole("attention.key_length")
                                : heads > 0                       ? keys.whole("embedding_length") / heads
                                                                  : 0;
  if (keys.find("rope.dimension_count") && keys.whole("rope.dimension_count") != head_dim && head_dim > 0)
    out["partial_rotary_factor"] = static_cast<double>(keys.whole("rope.dimension_count")) / static_cast<double>(head_dim);
  keys.copy_whole("attention.sliding_window", "sliding_window", out);
  if (out.contains("sliding_window") && architecture.model_type == "llama") out["model_type"] = "mistral";
  return out.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string name_in_safetensors(std::string_view gguf_name) {
  return renamed(gguf_name, kLayer, kOurLayer, &Renamed::gguf, &Renamed::safetensors);
}

std::string name_in_gguf(std::string_view name) { return renamed(name, kOurLayer, kLayer, &Renamed::safetensors, &Renamed::gguf); }

}  // namespace kvscope
