// SPDX-License-Identifier: Apache-2.0
#include "arch/refused.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

#include "io/quote_name.h"

namespace kvscope {
namespace {

using Names = std::span<const std::string_view>;

// As config.json (model_type) and GGUF files (general.architecture) write them, which often differ in underscores and hyphens alone: then
// one of the two is enough.
constexpr std::array<std::string_view, 13> kLatent = {
    "deepseek_v2",   "deepseek_v3", "deepseek_v32", "deepseek2", "kimi_k2", "minicpm3", "longcat_flash",
    "glm4_moe_lite", "glm_moe_dsa", "glm_dsa",      "mistral4",  "youtu",   "plm"};
constexpr std::array<std::string_view, 28> kStates = {
    "mamba",      "mamba2",         "falcon_mamba",     "jamba",         "bamba",      "zamba",   "zamba2",       "falcon_h1",
    "nemotron_h", "nemotron_h_moe", "granitemoehybrid", "granitehybrid", "qwen3_next", "qwen3_5", "qwen3_5_text", "qwen3_5_moe",
    "lfm2",       "lfm2_moe",       "recurrent_gemma",  "rwkv",          "rwkv6",      "rwkv7",   "arwkv7",       "rwkv6qwen2",
    "minimax",    "kimi_linear",    "olmo_hybrid",      "plamo2"};
constexpr std::array<std::string_view, 1> kSinks = {"gpt_oss"};
constexpr std::array<std::string_view, 31> kExperts = {
    "mixtral",      "qwen2_moe",   "qwen3_moe", "olmoe",    "granitemoe",   "phimoe",         "dbrx",
    "llama4",       "llama4_text", "glm4_moe",  "deepseek", "ernie4_5_moe", "hunyuan_v1_moe", "hunyuan_moe",
    "minimax_m2",   "flex_olmo",   "arctic",    "grok",     "dots1",        "bailingmoe",     "bailingmoe2",
    "smallthinker", "exaone_moe",  "afmoe",     "grovemoe", "llada_moe",    "jetmoe",         "granitemoeshared",
    "rnd1",         "mimo2",       "step35"};
constexpr std::array<std::string_view, 22> kLayerNorms = {
    "gpt2",       "gpt_neo",   "gpt_neox", "gptj",      "opt",      "bloom",    "falcon", "phi",  "phi2",   "mpt",     "starcoder",
    "starcoder2", "persimmon", "codegen",  "codeshell", "stablelm", "nemotron", "orion",  "jais", "cohere", "cohere2", "command_r"};
constexpr std::array<std::string_view, 4> kPerLayerInputs = {"gemma3n", "gemma3n_text", "gemma4", "gemma4_text"};
constexpr std::array<std::string_view, 2> kScaledQueries = {"ministral3", "mistral3"};
constexpr std::array<std::string_view, 10> kSections = {"qwen2_vl", "qwen2_vl_text", "qwen2_5_vl",   "qwen2_5_vl_text",
                                                        "qwen3_vl", "qwen3_vl_text", "qwen3_vl_moe", "qwen3_vl_moe_text",
                                                        "glm4v",    "glm4v_text"};
constexpr std::array<std::string_view, 14> kNoDecoders = {"bert",           "roberta",      "distilbert", "modernbert",      "nomic_bert",
                                                          "nomic_bert_moe", "jina_bert_v2", "t5",         "t5encoder",       "bart",
                                                          "clip",           "whisper",      "vit",        "wavtokenizer_dec"};

struct Reason {
  Names names;
  std::string_view why;
};

constexpr std::array kReasons = {
    Reason{
        kLatent,
        "they cache one compressed vector per token instead of keys and values per head (MLA), so there are no slots of a head to evict or merge"},
    Reason{
        kStates,
        "some of their layers keep a state of fixed size instead of keys and values (linear attention or a state space), so there is no cache to compress in them"},
    Reason{kSinks,
           "their softmax has a learned sink beside the tokens, which no policy's figures know, and their layers have experts (MoE)"},
    Reason{kExperts, "their layers have experts (MoE): each token runs through some of them, and here is one path for all"},
    Reason{kLayerNorms,
           "their layers have LayerNorm with biases, or attention and feed-forward side by side, which the forward pass here does not do"},
    Reason{kPerLayerInputs, "their layers have inputs of their own, and share caches, which the forward pass here does not do"},
    Reason{
        kScaledQueries,
        "their queries are scaled by their position once a text is longer than the original context, which the forward pass here does not do"},
    Reason{kSections, "their positions have three sections for text, height and width of pictures (M-RoPE)"},
    Reason{kNoDecoders, "they are no decoders that write a text on: there is no KV cache that grows"},
};

/// The next letter or digit from text[at] on, 0 behind the last one; `at` moves behind it.
char next_of_name(std::string_view text, std::size_t& at) {
  while (at < text.size() && (text[at] == '_' || text[at] == '-')) ++at;
  return at < text.size() ? text[at++] : '\0';
}

bool is_same_name(std::string_view a, std::string_view b) {
  for (std::size_t i = 0, j = 0;;) {
    const char of_a = next_of_name(a, i);
    if (of_a != next_of_name(b, j)) return false;
    if (of_a == '\0') return true;
  }
}

std::string_view why_refused(std::string_view family) {
  for (const Reason& reason : kReasons)
    if (std::ranges::any_of(reason.names, [&](std::string_view name) { return is_same_name(name, family); })) return reason.why;
  return {};
}

}  // namespace

std::string refusal_of(std::string_view what, std::string_view name, const std::vector<std::string>& known) {
  const std::string_view why = why_refused(name);
  const std::string quoted = quote_name(std::string(name));
  return fmt::format(
      "{} (known: {})",
      why.empty() ? fmt::format("unknown {} {}", what, quoted) : fmt::format("models of the {} {} do not open: {}", what, quoted, why),
      fmt::join(known, ", "));
}

}  // namespace kvscope
