// SPDX-License-Identifier: Apache-2.0
#include "arch/gguf_architecture.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <numbers>

#include "arch/refused.h"

namespace kvscope {
namespace {

using nlohmann::json;

using Name = GgufArchitecture::Name;

constexpr std::array kCaps = {Name{"attn_logit_softcapping", "attn_logit_softcapping"},
                              Name{"final_logit_softcapping", "final_logit_softcapping"}};
constexpr std::array kLocalTheta = {Name{"rope.freq_base_swa", "rope_local_base_freq"},
                                    Name{"final_logit_softcapping", "final_logit_softcapping"}};
constexpr std::array kFourScalars = {Name{"embedding_scale", "embedding_multiplier"}, Name{"residual_scale", "residual_multiplier"},
                                     Name{"attention.scale", "attention_multiplier"}, Name{"logit_scale", "logits_scaling"}};
constexpr std::array kNormsOnBothSides = {Name{"ffn_norm", "pre_feedforward_layernorm"},
                                          Name{"post_attention_norm", "post_attention_layernorm"},
                                          Name{"post_ffw_norm", "post_feedforward_layernorm"}};
constexpr std::array kFused = {Name{"attn_qkv", "self_attn.qkv_proj"}, Name{"ffn_up", "mlp.gate_up_proj"}};

constexpr std::array kArchitectures = {
    GgufArchitecture{
        .name = "llama", .model_type = "llama", .pairs_neighbours = true, .has_windows = true, .model_type_with_windows = "mistral"},
    GgufArchitecture{.name = "qwen2", .model_type = "qwen2"},
    GgufArchitecture{.name = "qwen3", .model_type = "qwen3"},
    GgufArchitecture{.name = "granite", .model_type = "granite", .pairs_neighbours = true, .numbers = kFourScalars},
    GgufArchitecture{.name = "phi3", .model_type = "phi3", .has_windows = true, .special_tokens_take_space = true, .parts = kFused},
    GgufArchitecture{.name = "gemma", .model_type = "gemma", .norms_hold_one = true},
    GgufArchitecture{.name = "gemma2",
                     .model_type = "gemma2",
                     .norms_hold_one = true,
                     .has_windows = true,
                     .n_layers_of_largest = 46,
                     .numbers = kCaps,
                     .parts = kNormsOnBothSides},
    GgufArchitecture{.name = "gemma3",
                     .model_type = "gemma3_text",
                     .norms_hold_one = true,
                     .has_windows = true,
                     .usual_theta = 1e6,
                     .n_layers_of_largest = 62,
                     .numbers = kLocalTheta,
                     .parts = kNormsOnBothSides},
    GgufArchitecture{.name = "smollm3", .model_type = "smollm3", .pairs_neighbours = true},
    GgufArchitecture{.name = "olmo2", .model_type = "olmo2", .parts = kNormsOnBothSides},
};

constexpr std::array kOfModel = {Name{"token_embd", "model.embed_tokens"}, Name{"output_norm", "model.norm"}, Name{"output", "lm_head"}};
constexpr std::array kOfLayer = {
    Name{"attn_norm", "input_layernorm"},    Name{"attn_q", "self_attn.q_proj"},
    Name{"attn_k", "self_attn.k_proj"},      Name{"attn_v", "self_attn.v_proj"},
    Name{"attn_output", "self_attn.o_proj"}, Name{"attn_q_norm", "self_attn.q_norm"},
    Name{"attn_k_norm", "self_attn.k_norm"}, Name{"ffn_norm", "post_attention_layernorm"},
    Name{"ffn_gate", "mlp.gate_proj"},       Name{"ffn_up", "mlp.up_proj"},
    Name{"ffn_down", "mlp.down_proj"},
};
constexpr const char* kArchitecture = "general.architecture";
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

std::string renamed(const GgufArchitecture& architecture, std::string_view name, std::string_view prefix, std::string_view other_prefix,
                    std::string_view Name::*from, std::string_view Name::*to) {
  const Parts parts = parts_of(name, prefix);
  const auto in = [&](std::span<const Name> names) -> const Name* {
    const auto found = std::ranges::find(names, parts.part, from);
    return found == names.end() ? nullptr : &*found;
  };
  const Name* found = nullptr;
  if (parts.layer.empty()) {
    found = in(kOfModel);
  } else {
    found = in(architecture.parts);
    if (!found) found = in(kOfLayer);
  }
  if (!found) return std::string(name);
  const std::string begin = parts.layer.empty() ? "" : fmt::format("{}{}.", other_prefix, parts.layer);
  return fmt::format("{}{}.{}", begin, found->*to, parts.kind);
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
  /// Of what may stand there once for each layer and is one number here.
  std::int64_t whole_of_layers(std::string_view part) const {
    const GgufValue* value = find(part);
    if (!value || !value->is_list()) return whole(part);
    const GgufValue& list = *file_.wholes(key(part));
    if (const std::int64_t layers = whole("block_count"); static_cast<std::int64_t>(list.size()) != layers || layers == 0)
      file_.fail(key(part), fmt::format("expected a number for each of {} layers, got {}", layers, list.size()));
    for (std::size_t i = 1; i < list.size(); ++i)
      if (list.whole(i) != list.whole(0))
        file_.fail(key(part), fmt::format("expected the same number in all layers, got {} in the first and {} in layer {}", list.whole(0),
                                          list.whole(i), i));
    return list.whole(0);
  }
  double real(std::string_view part) const {
    const GgufValue* value = find(part);
    if (!value) file_.fail(key(part), "is missing, expected a number");
    if (value->is_list() || value->is_text() || value->is_flag()) file_.fail(key(part), "expected a number, got something else");
    if (!std::isfinite(value->real())) file_.fail(key(part), fmt::format("expected a finite number, got {}", value->real()));
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

/// What the forward pass has no code for, or the architecture no meaning, must not run as if it were not there.
void refuse_unsupported(const Keys& keys, const GgufArchitecture& architecture) {
  for (const char* part : {"logit_scale", "embedding_scale", "residual_scale", "attention.scale", "attn_logit_softcapping",
                           "final_logit_softcapping", "attention.layer_norm_epsilon", "attention.max_alibi_bias", "attention.clamp_kqv"}) {
    const bool read = std::ranges::find(architecture.numbers, std::string_view(part), &Name::gguf) != architecture.numbers.end();
    if (!read && keys.find(part)) keys.file().fail(keys.key(part), "is not supported: expected no such key");
  }
  if (keys.find("expert_count") && keys.whole("expert_count") != 0)
    keys.file().fail(keys.key("expert_count"),
                     fmt::format("mixtures of experts are not supported: expected 0, got {}", keys.whole("expert_count")));
  if (keys.find("attention.value_length") && keys.find("attention.key_length") &&
      keys.whole("attention.value_length") != keys.whole("attention.key_length"))
    keys.file().fail(keys.key("attention.value_length"), "expected as many dimensions as keys have");
  constexpr const char* kWindow = "attention.sliding_window";
  if (!architecture.has_windows && keys.find(kWindow) && keys.whole(kWindow) != 0 && keys.whole(kWindow) < keys.whole("context_length"))
    keys.file().fail(keys.key(kWindow), fmt::format("expected no window, models of {} have none here", architecture.name));
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

std::vector<float> floats_of(const GgufFile& file, std::string_view name, const TensorView& tensor) {
  if (tensor.dtype != DType::f32 || tensor.shape.size() != 1) file.fail(name, "expected a list of F32");
  std::vector<float> out(tensor.bytes.size() / sizeof(float));
  std::memcpy(out.data(), tensor.bytes.data(), out.size() * sizeof(float));
  return out;
}

/// A file has the divisors as they come out (rope_freqs.weight), a config.json the numbers that they are made of. These are found again,
/// and checked against every divisor.
json scaling_of_divisors(const GgufFile& file, const TensorView& tensor, double theta) {
  const std::vector<float> divisors = floats_of(file, "rope_freqs.weight", tensor);
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

/// Divisors for short and for long texts, as they are.
json scaling_of_lengths(const Keys& keys, const TensorView& short_ones, const TensorView& long_ones) {
  json out = {{"rope_type", "longrope"},
              {"short_factor", floats_of(keys.file(), "rope_factors_short.weight", short_ones)},
              {"long_factor", floats_of(keys.file(), "rope_factors_long.weight", long_ones)}};
  keys.copy_real("rope.scaling.attn_factor", "attention_factor", out);
  keys.copy_whole("rope.scaling.original_context_length", "original_max_position_embeddings", out);
  return out;
}

/// null: none.
json scaling_of(const Keys& keys, double theta) {
  if (const TensorView* divisors = keys.tensor("rope_freqs.weight")) return scaling_of_divisors(keys.file(), *divisors, theta);
  const TensorView *short_ones = keys.tensor("rope_factors_short.weight"), *long_ones = keys.tensor("rope_factors_long.weight");
  if (short_ones && long_ones) return scaling_of_lengths(keys, *short_ones, *long_ones);
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

/// What other keys say only together.
void add_what_follows(const Keys& keys, const GgufArchitecture& architecture, json& out) {
  const std::int64_t heads = keys.whole_of_layers("attention.head_count"), dim = keys.whole("embedding_length");
  const bool has_length = keys.find("attention.key_length") != nullptr;
  const std::int64_t head_dim = has_length ? keys.whole("attention.key_length") : heads > 0 ? dim / heads : 0;
  if (!has_length && head_dim > 0) out["head_dim"] = head_dim;
  if (keys.find("rope.dimension_count") && keys.whole("rope.dimension_count") != head_dim && head_dim > 0)
    out["partial_rotary_factor"] = static_cast<double>(keys.whole("rope.dimension_count")) / static_cast<double>(head_dim);
  for (const Name& number : architecture.numbers) keys.copy_real(number.gguf, std::string(number.config).c_str(), out);
  if (architecture.has_windows && keys.find("attention.sliding_window") && keys.whole("attention.sliding_window") != 0) {
    keys.copy_whole("attention.sliding_window", "sliding_window", out);
    if (!architecture.model_type_with_windows.empty()) out["model_type"] = architecture.model_type_with_windows;
  } else if (architecture.has_windows) {
    out["sliding_window"] = nullptr;
  }
  if (architecture.n_layers_of_largest > 0) {
    const bool largest = keys.whole("block_count") == architecture.n_layers_of_largest;
    out["query_pre_attn_scalar"] = largest && heads > 0 ? dim / heads : head_dim;
  }
}

/// An id under a key of the tokenizer; null: none.
json id_or_null(const GgufFile& file, const char* key) { return file.find(key) ? json(file.whole(key)) : json(nullptr); }

}  // namespace

const GgufArchitecture* known_gguf_architecture(const GgufFile& file) {
  const auto found = std::ranges::find(kArchitectures, file.text_or(kArchitecture, ""), &GgufArchitecture::name);
  return found == kArchitectures.end() ? nullptr : &*found;
}

const GgufArchitecture& gguf_architecture(const GgufFile& file) {
  const std::string_view name = file.text(kArchitecture);
  if (const GgufArchitecture* known = known_gguf_architecture(file)) return *known;
  std::vector<std::string> known;
  for (const GgufArchitecture& one : kArchitectures) known.emplace_back(one.name);
  file.fail(kArchitecture, refusal_of("architecture", name, known));
}

std::string config_of_gguf(std::span<const GgufFile> parts, const GgufArchitecture& architecture) {
  const Keys keys(parts, architecture.name);
  const GgufFile& file = keys.file();
  refuse_unsupported(keys, architecture);
  const double theta = keys.find("rope.freq_base") ? keys.real("rope.freq_base") : architecture.usual_theta;
  json out = {{"model_type", architecture.model_type},
              {"hidden_size", keys.whole("embedding_length")},
              {"intermediate_size", keys.whole_of_layers("feed_forward_length")},
              {"num_hidden_layers", keys.whole("block_count")},
              {"num_attention_heads", keys.whole_of_layers("attention.head_count")},
              {"vocab_size", vocab_size(keys)},
              {"max_position_embeddings", keys.whole("context_length")},
              {"rms_norm_eps", keys.real("attention.layer_norm_rms_epsilon")},
              {"rope_theta", theta},
              {"tie_word_embeddings", !keys.has_tensor("output.weight")},
              {"bos_token_id", id_or_null(file, "tokenizer.ggml.bos_token_id")},
              {"eos_token_id", id_or_null(file, "tokenizer.ggml.eos_token_id")}};
  if (keys.find("attention.head_count_kv")) out["num_key_value_heads"] = keys.whole_of_layers("attention.head_count_kv");
  keys.copy_whole("attention.key_length", "head_dim", out);
  if (const json scaling = scaling_of(keys, theta); !scaling.is_null()) out["rope_scaling"] = scaling;
  // Texts end at the end of a turn, too.
  if (const json turn = id_or_null(file, "tokenizer.ggml.eot_token_id");
      !turn.is_null() && !out["eos_token_id"].is_null() && turn != out["eos_token_id"])
    out["eos_token_id"] = {out["eos_token_id"], turn};
  if (const std::string_view name = file.text_or("general.name", ""); !name.empty()) out["name"] = name;
  add_what_follows(keys, architecture, out);
  return out.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string name_in_safetensors(const GgufArchitecture& architecture, std::string_view name) {
  return renamed(architecture, name, kLayer, kOurLayer, &Name::gguf, &Name::config);
}

std::string name_in_gguf(const GgufArchitecture& architecture, std::string_view name) {
  return renamed(architecture, name, kOurLayer, kLayer, &Name::config, &Name::gguf);
}

}  // namespace kvscope
