// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "arch/model_files.h"
#include "arch/model_folder.h"
#include "core/error.h"

namespace kvscope {
namespace {

using nlohmann::json;
using test::message_of;
using test::ModelFolder;
using testing::AllOf;
using testing::HasSubstr;

ModelConfig config_of(const ModelFolder& folder) { return open_model(folder.write()).config; }

/// The message for the small model with some keys replaced.
std::string error_with(const json& changes) {
  ModelFolder folder;
  folder.config.update(changes);
  return message_of<Error>([&] { open_model(folder.write()); });
}
ModelConfig config_with(const json& changes) {
  ModelFolder folder;
  folder.config.update(changes);
  return config_of(folder);
}

TEST(ModelConfigFile, GivesEveryFieldAndTheFolderForAName) {
  const ModelFolder folder;
  const ModelConfig c = config_of(folder);
  EXPECT_EQ(c.name, std::filesystem::path(folder.path()).filename());
  EXPECT_EQ(c.arch, "llama");
  EXPECT_EQ(c.n_layers, 2);
  EXPECT_EQ(c.n_heads, 4);
  EXPECT_EQ(c.n_kv_heads, 2);
  EXPECT_EQ(c.head_dim, 6);  // given, not 8 / 4
  EXPECT_EQ(c.dim, 8);
  EXPECT_EQ(c.hidden_dim, 12);
  EXPECT_EQ(c.vocab_size, 10);
  EXPECT_EQ(c.max_positions, 128);
  EXPECT_DOUBLE_EQ(c.norm_eps, 1e-5);
  EXPECT_DOUBLE_EQ(c.ropes[0].theta, 10000);
  EXPECT_EQ(c.ropes[0].scaling.kind, RopeScaling::Kind::none);
  EXPECT_FALSE(c.tied_embeddings);
  EXPECT_EQ(c.bos_id, 1);
  EXPECT_EQ(c.eos_id, 2);
  EXPECT_EQ(config_with({{"name", "mine"}}).name, "mine");
}

TEST(ModelConfigFile, TokenIdsMayBeNullOrAList) {
  EXPECT_EQ(config_with({{"bos_token_id", nullptr}}).bos_id, -1);
  EXPECT_EQ(config_with({{"eos_token_id", {7, 8}}}).eos_id, 7);
  EXPECT_THAT(error_with({{"eos_token_id", 10}}), HasSubstr("eos_token_id: expected a token id below vocab_size = 10, got 10"));
  EXPECT_THAT(error_with({{"bos_token_id", -1}}), HasSubstr("got -1"));
}

TEST(RopeConfig, ThetaStandsAtTheTopOrInRopeParameters) {
  EXPECT_DOUBLE_EQ(config_with({{"rope_theta", 500000}}).ropes[0].theta, 500000);
  EXPECT_DOUBLE_EQ(config_with({{"rope_parameters", {{"rope_theta", 1e6}, {"rope_type", "default"}}}}).ropes[0].theta, 1e6);
  EXPECT_THAT(error_with({{"rope_theta", 0}}), HasSubstr("rope_theta: expected a number from 1"));
  EXPECT_DOUBLE_EQ(config_with({{"rope_theta", 5000}, {"rope_parameters", {{"rope_theta", 5000}}}}).ropes[0].theta, 5000);
  EXPECT_THAT(error_with({{"rope_theta", 5000}, {"rope_parameters", {{"rope_theta", 1e6}}}}),
              HasSubstr("rope_parameters.rope_theta: expected 5000 as elsewhere in the file, got 1000000"));
}

TEST(RopeConfig, ReadsLinearAndLlama3ScalingInOldAndNewSpelling) {
  for (const char* place : {"rope_scaling", "rope_parameters"}) {
    for (const char* kind : {"rope_type", "type"}) {
      const ModelConfig linear = config_with({{place, {{kind, "linear"}, {"factor", 4.0}}}});
      EXPECT_EQ(linear.ropes[0].scaling.kind, RopeScaling::Kind::linear);
      EXPECT_DOUBLE_EQ(linear.ropes[0].scaling.factor, 4);
    }
  }
  const RopeScaling s = config_with({{"rope_scaling",
                                      {{"rope_type", "llama3"},
                                       {"factor", 8.0},
                                       {"low_freq_factor", 1.0},
                                       {"high_freq_factor", 4.0},
                                       {"original_max_position_embeddings", 8192}}}})
                            .ropes[0]
                            .scaling;
  EXPECT_EQ(s.kind, RopeScaling::Kind::llama3);
  EXPECT_DOUBLE_EQ(s.factor, 8);
  EXPECT_DOUBLE_EQ(s.low_freq_factor, 1);
  EXPECT_DOUBLE_EQ(s.high_freq_factor, 4);
  EXPECT_EQ(s.original_max_position, 8192);
}

TEST(RopeConfig, RefusesUnknownKindsAndBadFactors) {
  EXPECT_THAT(error_with({{"rope_scaling", {{"rope_type", "dynamic"}, {"factor", 2.0}}}}),
              HasSubstr("rope_scaling.rope_type: unknown kind of scaling 'dynamic' (known: default, linear, llama3, yarn, longrope)"));
  EXPECT_THAT(error_with({{"rope_scaling", {{"type", "linear"}}}}), HasSubstr("rope_scaling.factor: is missing"));
  EXPECT_THAT(error_with({{"rope_scaling", {{"type", "linear"}, {"factor", 0.5}}}}), HasSubstr("from 1"));
  EXPECT_THAT(error_with({{"rope_scaling", {{"type", "llama3"}, {"factor", 8}, {"low_freq_factor", 4}, {"high_freq_factor", 4}}}}),
              HasSubstr("expected more than low_freq_factor = 4, got 4"));
  EXPECT_THAT(error_with({{"rope_scaling", "linear"}}), HasSubstr("rope_scaling: expected a JSON object, got \"linear\""));
}

TEST(Mistral, HasLlamasTensorsAndAWindowInEveryLayer) {
  const json mistral = {{"model_type", "mistral"}};
  const auto with = [&](json changes) { return changes.update(mistral), changes; };
  EXPECT_EQ(config_with(with({{"sliding_window", nullptr}})).arch, "mistral");
  EXPECT_EQ(config_with(with({{"sliding_window", nullptr}})).window(0), 0);
  EXPECT_EQ(config_with(with({{"sliding_window", 128}})).window(1), 0) << "a window of all positions is none";
  EXPECT_EQ(config_with(with({{"sliding_window", 127}})).window(1), 127);
  EXPECT_EQ(config_with(mistral).window(0), 0) << "the family's 4096 covers 128 positions";
  EXPECT_EQ(config_with(with({{"max_position_embeddings", 8192}})).window(0), 4096) << "the key is absent";
  EXPECT_THAT(error_with(with({{"sliding_window", 0}})), HasSubstr("sliding_window: expected a whole number from 1"));
}

TEST(Mistral, MinistralHasItsWindowWhereLayerTypesSay) {
  const json ministral = {{"model_type", "ministral"}, {"sliding_window", 16}};
  const auto with = [&](json changes) { return changes.update(ministral), changes; };
  EXPECT_EQ(config_with(ministral).arch, "ministral");
  EXPECT_EQ(config_with(ministral).window(1), 16);
  const ModelConfig mixed = config_with(with({{"layer_types", {"full_attention", "sliding_attention"}}}));
  EXPECT_EQ(mixed.window(0), 0);
  EXPECT_EQ(mixed.window(1), 16);
  EXPECT_THAT(error_with({{"model_type", "ministral3"}}), HasSubstr("their queries are scaled by their position"));
}

TEST(Windows, StandInTheLayersThatTheFileSays) {
  const json gemma = {{"model_type", "qwen2"}, {"use_sliding_window", true}, {"sliding_window", 16}};
  const auto with = [&](json changes) { return changes.update(gemma), changes; };
  const auto windows = [&](const json& changes) {
    ModelFolder folder;
    folder.config.update(with(changes));
    folder.add_biases();
    const ModelConfig c = config_of(folder);
    return std::pair(c.window(0), c.window(1));
  };
  EXPECT_EQ(windows({{"max_window_layers", 1}}), std::pair(0, 16));
  EXPECT_EQ(windows({{"layer_types", {"sliding_attention", "full_attention"}}}), std::pair(16, 0));
  EXPECT_THAT(error_with(with({{"layer_types", {"sliding_attention"}}})), HasSubstr("layer_types: expected a list of 2"));
  EXPECT_THAT(error_with(with({{"layer_types", {"full_attention", "linear_attention"}}})),
              HasSubstr("layer_types: expected full_attention or sliding_attention, got 'linear_attention'"));
}

TEST(ModelConfigFile, RefusesWhatTheForwardPassDoesNotDo) {
  EXPECT_THAT(error_with({{"model_type", "grande"}}),
              HasSubstr("config.json: model_type: unknown family 'grande' (known: llama, mistral,"));
  EXPECT_THAT(error_with({{"model_type", "deepseek_v3"}}),
              HasSubstr("'deepseek_v3' do not open: they cache one compressed vector per token"));
  EXPECT_THAT(error_with({{"model_type", "gpt_oss"}}), HasSubstr("a learned sink beside the tokens"));
  EXPECT_THAT(error_with({{"model_type", "mixtral"}}), HasSubstr("experts (MoE)"));
  EXPECT_THAT(error_with({{"model_type", "qwen3_next"}}), HasSubstr("a state of fixed size"));
  EXPECT_THAT(error_with({{"model_type", "falcon"}}), HasSubstr("LayerNorm"));
  EXPECT_THAT(error_with({{"num_local_experts", 8}}), HasSubstr("num_local_experts: expected none"));
  EXPECT_THAT(error_with({{"hidden_act", "gelu"}}), HasSubstr("expected silu or gelu_pytorch_tanh, got 'gelu'"));
  EXPECT_THAT(error_with({{"quantization_config", {{"bits", 4}}}}), HasSubstr("quantized weights are not read"));
  EXPECT_THAT(error_with({{"partial_rotary_factor", 0.5}}), HasSubstr("partial rotation"));
  EXPECT_THAT(error_with({{"rope_parameters", {{"partial_rotary_factor", 0.5}}}}), HasSubstr("partial rotation"));
}

TEST(ModelConfigFile, AMultimodalFolderGivesItsTextPart) {
  ModelFolder folder;
  folder.config = {{"model_type", "llava"}, {"vision_config", {{"hidden_size", 3}}}, {"text_config", folder.config}};
  EXPECT_EQ(config_of(folder).arch, "llama");
  for (const char* prefix : {"language_model.model.", "model.language_model.", "model.text_model."}) {
    ModelFolder moved;
    moved.config = folder.config;
    moved.shapes.clear();
    for (const auto& [name, shape] : folder.shapes) moved.shapes[name.starts_with("model.") ? prefix + name.substr(6) : name] = shape;
    moved.config["text_config"]["eos_token_id"] = 7;
    const ModelFiles model = open_model(moved.write());
    EXPECT_EQ(model.layers.size(), 2u) << prefix;
    EXPECT_EQ(model.end_ids, std::vector<int>{7}) << prefix;
  }
  folder.config["text_config"]["model_type"] = "qwen2_vl_text";
  EXPECT_THAT(message_of<Error>([&] { open_model(folder.write()); }), HasSubstr("M-RoPE"));
}

TEST(ModelConfigFile, BoundsEveryDimension) {
  for (const char* key :
       {"hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads", "head_dim", "vocab_size"}) {
    for (const json& bad : {json(0), json(-1), json(1 << 20), json(9223372036854775807), json(18446744073709551615u), json(1.5), json("8"),
                            json(true), json::array({8})}) {
      EXPECT_THAT(error_with({{key, bad}}), HasSubstr(std::string(key) + ": expected a whole number from 1 to 1048575, got ")) << bad;
    }
  }
  for (const char* key : {"hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads", "vocab_size", "model_type"}) {
    ModelFolder folder;
    folder.config.erase(key);
    EXPECT_THAT(message_of<Error>([&] { open_model(folder.write()); }), HasSubstr("config.json: " + std::string(key) + ": is missing"));
  }
}

TEST(ModelConfigFile, SaysWhatToChooseWhereItIsNoModels) {
  ModelFolder folder;
  folder.config.erase("model_type");
  EXPECT_THAT(message_of<Error>([&] { open_model(folder.write()); }), HasSubstr("choose the folder of a model in the Hugging Face layout"));
}

TEST(ModelConfigFile, ChecksThatTheHeadsFitTogether) {
  EXPECT_THAT(error_with({{"num_key_value_heads", 3}}),
              HasSubstr("num_key_value_heads: expected a divisor of num_attention_heads = 4, got 3"));
  EXPECT_THAT(error_with({{"head_dim", 7}}), HasSubstr("expected an even number (rotary pairs), got 7"));
  EXPECT_THAT(error_with({{"head_dim", nullptr}, {"hidden_size", 10}}),
              HasSubstr("hidden_size = 10 is not a multiple of num_attention_heads = 4"));
  EXPECT_THAT(error_with({{"head_dim", 1 << 19}}), HasSubstr("heads * head_dim of at most"));
}

TEST(ModelConfigFile, RefusesTextThatIsNoConfig) {
  const ModelFolder folder;
  folder.write();
  const auto error = [&](std::string_view text) {
    folder.folder().write("config.json", text);
    return message_of<Error>([&] { open_model(folder.path()); });
  };
  EXPECT_THAT(error(""), AllOf(HasSubstr("config.json"), HasSubstr("expected JSON")));
  EXPECT_THAT(error("[]"), HasSubstr("expected a JSON object, got a list"));
  EXPECT_THAT(error(std::string(100'000, '{')), HasSubstr("expected JSON"));
  EXPECT_THAT(error("{\"a\":" + std::string(100'000, '[')), HasSubstr("nested deeper"));
  EXPECT_THAT(error(std::string((4 << 20) + 1, ' ')), HasSubstr("expected at most"));
}

TEST(ModelConfigFile, AnyValueUnderAnyKeyOpensOrIsRefusedWithASentence) {
  const json values[] = {nullptr,
                         true,
                         -1,
                         0,
                         1,
                         1e300,
                         -0.5,
                         18446744073709551615u,
                         "",
                         "linear",
                         json::array(),
                         {1, "a"},
                         json::object(),
                         {{"type", 5}},
                         {{"rope_type", nullptr}}};
  const ModelFolder plain;
  std::vector<std::string> keys = {"name",          "rope_scaling",        "rope_parameters",      "rope_theta", "bos_token_id",
                                   "eos_token_id",  "hidden_act",          "attention_bias",       "mlp_bias",   "sliding_window",
                                   "architectures", "quantization_config", "partial_rotary_factor"};
  for (const auto& [key, value] : plain.config.items()) keys.push_back(key);
  int opened = 0, refused = 0;
  for (const std::string& key : keys) {
    for (const json& value : values) {
      ModelFolder folder;
      folder.config[key] = value;
      try {
        open_model(folder.write());
        ++opened;
      } catch (const Error&) {  // nothing else may come out
        ++refused;
      }
    }
  }
  EXPECT_GT(opened, 30);
  EXPECT_GT(refused, 150);
}

TEST(ModelConfigFile, AnyTruncatedConfigIsRefused) {
  const ModelFolder folder;
  folder.write();
  const std::string whole = folder.config.dump();
  for (std::size_t length = 0; length < whole.size(); ++length) {
    folder.folder().write("config.json", whole.substr(0, length));
    EXPECT_THROW(open_model(folder.path()), Error) << "at length " << length;
  }
}

}  // namespace
}  // namespace kvscope
