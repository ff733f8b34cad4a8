// SPDX-License-Identifier: Apache-2.0
#include "arch/refused.h"

#include <algorithm>
#include <array>
#include <span>

namespace kvscope {
namespace {

using Names = std::span<const std::string_view>;

constexpr std::array<std::string_view, 8> kLatent = {"deepseek_v2", "deepseek_v3",   "deepseek_v32",  "kimi_k2",
                                                     "minicpm3",    "longcat_flash", "glm4_moe_lite", "youtu"};
constexpr std::array<std::string_view, 20> kStates = {"mamba",      "mamba2",      "falcon_mamba", "jamba",           "bamba",
                                                      "zamba",      "zamba2",      "falcon_h1",    "nemotron_h",      "granitemoehybrid",
                                                      "qwen3_next", "qwen3_5",     "lfm2",         "recurrent_gemma", "rwkv",
                                                      "minimax",    "kimi_linear", "olmo_hybrid",  "qwen3_5_text",    "lfm2_moe"};
constexpr std::array<std::string_view, 1> kSinks = {"gpt_oss"};
constexpr std::array<std::string_view, 15> kExperts = {"mixtral",  "qwen2_moe",    "qwen3_moe",      "olmoe",       "granitemoe",
                                                       "phimoe",   "dbrx",         "llama4",         "llama4_text", "glm4_moe",
                                                       "deepseek", "ernie4_5_moe", "hunyuan_v1_moe", "minimax_m2",  "flex_olmo"};
constexpr std::array<std::string_view, 13> kLayerNorms = {"gpt2", "gpt_neo", "gpt_neox",   "gptj",      "opt",     "bloom", "falcon",
                                                          "phi",  "mpt",     "starcoder2", "persimmon", "codegen", "cohere"};
constexpr std::array<std::string_view, 4> kPerLayerInputs = {"gemma3n", "gemma3n_text", "gemma4", "gemma4_text"};
constexpr std::array<std::string_view, 8> kSections = {"qwen2_vl", "qwen2_vl_text", "qwen2_5_vl", "qwen2_5_vl_text",
                                                       "qwen3_vl", "qwen3_vl_text", "glm4v",      "glm4v_text"};
constexpr std::array<std::string_view, 8> kNoDecoders = {"bert", "roberta", "distilbert", "t5", "bart", "clip", "whisper", "vit"};

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
    Reason{kSections, "their positions have three sections for text, height and width of pictures (M-RoPE)"},
    Reason{kNoDecoders, "they are no decoders that write a text on: there is no KV cache that grows"},
};

}  // namespace

std::string_view why_refused(std::string_view model_type) {
  for (const Reason& reason : kReasons)
    if (std::ranges::find(reason.names, model_type) != reason.names.end()) return reason.why;
  return {};
}

}  // namespace kvscope
