// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "arch/model_files.h"
#include "arch/model_folder.h"
#include "core/error.h"
#include "paths.h"

namespace kvscope {
namespace {

namespace fs = std::filesystem;
using test::message_of;
using test::ModelFolder;
using test::TempFolder;
using testing::AllOf;
using testing::HasSubstr;
using Shape = std::vector<std::int64_t>;

std::string folder_error(const std::string& folder) {
  return message_of<Error>([&] { open_model(folder); });
}

TEST(OpenModel, BindsEveryTensorOfEveryLayer) {
  const ModelFolder folder;
  const ModelFiles model = open_model(folder.write());
  EXPECT_EQ(model.embedding.shape, (Shape{10, 8}));
  EXPECT_EQ(model.final_norm.shape, (Shape{8}));
  EXPECT_NE(model.lm_head.bytes.data(), model.embedding.bytes.data());
  ASSERT_EQ(model.layers.size(), 2u);
  EXPECT_EQ(model.layers[1].wq.shape, (Shape{24, 8}));
  EXPECT_EQ(model.layers[1].wk.shape, (Shape{12, 8}));
  EXPECT_EQ(model.layers[1].wo.shape, (Shape{8, 24}));
  EXPECT_EQ(model.layers[1].w_down.shape, (Shape{8, 12}));
  EXPECT_NE(model.layers[0].wq.bytes.data(), model.layers[1].wq.bytes.data());
  EXPECT_NE(model.layers[0].attn_norm.bytes.data(), model.layers[0].ffn_norm.bytes.data());
  EXPECT_NE(model.layers[0].w_gate.bytes.data(), model.layers[0].w_up.bytes.data());
  // 2 x 10*8 + 8 + 2 layers x (2*8 + 24*8 + 2*12*8 + 8*24 + 3*12*8) numbers of four bytes
  EXPECT_EQ(model.weight_bytes, 4u * (160 + 8 + 2 * (16 + 192 + 192 + 192 + 288)));
  EXPECT_FALSE(model.has_tokenizer);
  EXPECT_EQ(model.tokenizer->piece(3), "⟨3⟩");
}

TEST(OpenModel, ATiedHeadIsTheEmbeddingEvenIfTheFileHasAnother) {
  ModelFolder folder;
  folder.config["tie_word_embeddings"] = true;
  const ModelFiles with = open_model(folder.write());
  EXPECT_EQ(with.lm_head.bytes.data(), with.embedding.bytes.data());
  folder.shapes.erase("lm_head.weight");
  EXPECT_EQ(open_model(folder.write()).weight_bytes, with.weight_bytes);
  folder.config["tie_word_embeddings"] = false;
  EXPECT_THAT(folder_error(folder.write()), HasSubstr("tensor 'lm_head.weight' is missing, expected [vocab_size, dim] = [10, 8]"));
}

TEST(OpenModel, NamesEachMissingTensorAndItsShape) {
  const ModelFolder whole;
  for (const auto& [name, shape] : whole.shapes) {
    ModelFolder folder;
    folder.shapes.erase(name);
    EXPECT_THAT(folder_error(folder.write()),
                AllOf(HasSubstr("tensor '" + name + "' is missing, expected ["), HasSubstr(std::to_string(shape[0]))));
  }
}

TEST(OpenModel, NamesEachMisshapenTensorWithBothShapes) {
  const ModelFolder whole;
  for (const auto& [name, shape] : whole.shapes) {
    ModelFolder folder;
    folder.shapes[name][0] += 1;
    EXPECT_THAT(
        folder_error(folder.write()),
        AllOf(HasSubstr("model.safetensors: tensor '" + name + "' is [" + std::to_string(shape[0] + 1)), HasSubstr("config.json says")));
  }
  ModelFolder folder;
  folder.shapes["model.layers.1.self_attn.k_proj.weight"] = {24, 8};
  EXPECT_THAT(folder_error(folder.write()),
              HasSubstr("is [24, 8], config.json says [n_kv_heads * head_dim, dim] = [12, 8]; is this checkpoint for another model?"));
}

TEST(OpenModel, ReadsEveryFloatTypeAndRefusesIntegers) {
  for (const char* dtype : {"F16", "BF16", "F64"}) {
    ModelFolder folder;
    folder.dtypes["model.norm.weight"] = dtype;
    EXPECT_EQ(open_model(folder.write()).final_norm.shape, (Shape{8}));
  }
  ModelFolder folder;
  folder.dtypes["model.norm.weight"] = "U8";
  EXPECT_THAT(
      folder_error(folder.write()),
      HasSubstr("tensor 'model.norm.weight' is U8, expected F32, F16, BF16 or F64; quantised weights are read from GGUF files only"));
}

TEST(OpenModel, RefusesBiasesNormsAndLayersBeyondTheConfig) {
  ModelFolder biased;
  biased.shapes["model.layers.0.self_attn.q_proj.bias"] = {24};
  EXPECT_THAT(folder_error(biased.write()),
              HasSubstr("'model.layers.0.self_attn.q_proj.bias': llama layers of this config.json have no such bias or norm"));
  biased.config["attention_bias"] = true;
  EXPECT_THAT(folder_error(biased.write()), HasSubstr("'model.layers.0.self_attn.k_proj.bias' is missing"));
  ModelFolder normed;
  normed.shapes["model.layers.1.self_attn.q_norm.weight"] = {6};
  EXPECT_THAT(folder_error(normed.write()), HasSubstr("no such bias or norm"));
  ModelFolder deeper;
  deeper.config["num_hidden_layers"] = 1;
  EXPECT_THAT(folder_error(deeper.write()), HasSubstr("belongs to a layer beyond num_hidden_layers = 1"));
  ModelFolder shallower;
  shallower.config["num_hidden_layers"] = (1 << 20) - 1;
  EXPECT_THAT(folder_error(shallower.write()), HasSubstr("'model.layers.2.input_layernorm.weight' is missing"));
}

bool is_first(const std::string& name) { return name.starts_with("model.layers.0"); }

class Sharded : public testing::Test {
 protected:
  Sharded() {
    folder.write_config();
    folder.write_tensors("model-1.safetensors", is_first);
    folder.write_tensors("model-2.safetensors", [](const std::string& name) { return !is_first(name); });
    for (const auto& [name, shape] : folder.shapes)
      index["weight_map"][name] = is_first(name) ? "model-1.safetensors" : "model-2.safetensors";
  }
  std::string error() {
    folder.folder().write("model.safetensors.index.json", index.dump());
    return folder_error(folder.path());
  }
  ModelFolder folder;
  nlohmann::json index = {{"metadata", {{"total_size", 1}}}};
};

TEST_F(Sharded, TensorsAreFoundInTheFilesTheIndexNames) {
  EXPECT_EQ(error(), "");
  const ModelFiles model = open_model(folder.path());
  EXPECT_EQ(model.files.size(), 2u);
  EXPECT_EQ(model.layers[1].w_up.shape, (Shape{12, 8}));
}

TEST_F(Sharded, AMissingShardIsNamed) {
  fs::remove(folder.folder() / "model-2.safetensors");
  EXPECT_THAT(error(), HasSubstr("model-2.safetensors: is missing, model.safetensors.index.json names it; is the download complete?"));
}

TEST_F(Sharded, ATensorThatIsNotInItsShardIsNamed) {
  index["weight_map"]["model.norm.weight"] = "model-1.safetensors";
  EXPECT_THAT(error(), HasSubstr("model-1.safetensors: tensor 'model.norm.weight' is missing"));
}

TEST_F(Sharded, AnIndexCannotReachOutsideItsFolder) {
  for (const char* name : {"../model-1.safetensors", "/etc/passwd", "pytorch_model.bin", "", "a/b.safetensors"}) {
    index["weight_map"]["model.norm.weight"] = name;
    EXPECT_THAT(error(), HasSubstr("expected the name of a .safetensors file in the same folder")) << name;
  }
  index["weight_map"]["model.norm.weight"] = 5;
  EXPECT_THAT(error(), HasSubstr("got no text"));
  index = nlohmann::json::array();
  EXPECT_THAT(error(), HasSubstr("\"weight_map\""));
}

TEST(OpenModel, NeverReadsPickleAndSaysToConvert) {
  for (const char* name : {"pytorch_model.bin", "pytorch_model.bin.index.json", "consolidated.00.pth"}) {
    const ModelFolder folder;
    folder.write_config();
    folder.folder().write(name, "\x80\x02pickle");
    EXPECT_THAT(folder_error(folder.path()), AllOf(HasSubstr(name), HasSubstr("convert it"))) << name;
  }
}

TEST(OpenModel, NamesWhatIsMissingFromAFolder) {
  const TempFolder empty;
  EXPECT_THAT(folder_error(empty / "none"), HasSubstr("expected a model folder with config.json, got nothing there"));
  EXPECT_THAT(folder_error(empty.write("file", "x")), HasSubstr("something that is neither a folder nor a GGUF file"));
  EXPECT_THAT(folder_error(empty.path()), AllOf(HasSubstr("got a folder without it"), HasSubstr("Hugging Face layout")));
  for (const char* target : {"gone.json", "config.json"}) {  // the second one leads to itself
    const TempFolder links;
    std::filesystem::create_symlink(target, links / "config.json");
    EXPECT_THAT(folder_error(links.path()), HasSubstr("config.json: expected the configuration of a model, got a link that leads nowhere"))
        << target;
  }
  const ModelFolder folder;
  folder.write_config();
  EXPECT_THAT(folder_error(folder.path()), HasSubstr("expected model.safetensors or model.safetensors.index.json, got neither"));
}

TEST(OpenModel, ATokenizerMustFitTheVocabulary) {
  const ModelFolder folder;
  folder.write();
  folder.folder().write("tokenizer.model", "no tokenizer");
  EXPECT_THAT(folder_error(folder.path()), HasSubstr("tokenizer.model: expected a sentencepiece model"));
  fs::copy_file(in_checkout("assets/models/kvmini/tokenizer.model"), folder.folder() / "tokenizer.model",
                fs::copy_options::overwrite_existing);
  EXPECT_THAT(folder_error(folder.path()), HasSubstr("expected at most vocab_size = 10 pieces, got 2048"));
}

TEST(OpenModel, TokensBesideATokenizerModelAreItsOwn) {
  ModelFolder folder;
  folder.config["vocab_size"] = 2056;
  folder.write();
  fs::copy_file(in_checkout("assets/models/kvmini/tokenizer.model"), folder.folder() / "tokenizer.model");
  const auto ids = [&] { return open_tokenizer_file(folder.path()).tokenizer->encode("<|im_end|>", SpecialNames::tokens); };
  folder.folder().write("added_tokens.json", R"({"<|im_end|>": 2049})");
  EXPECT_EQ(ids(), std::vector<int>{2049});
  folder.folder().write("tokenizer_config.json", R"({"added_tokens_decoder":{"2048":{"content":"<|im_end|>","special":true}}})");
  EXPECT_EQ(ids(), std::vector<int>{2048}) << "transformers reads the other file where this one says nothing";
  const auto refusal = [&](const char* decoder) {
    folder.folder().write("tokenizer_config.json", fmt::format(R"({{"added_tokens_decoder":{}}})", decoder));
    return message_of<Error>([&] { open_tokenizer_file(folder.path()); });
  };
  EXPECT_THAT(refusal(R"({"-1":{"content":"a"}})"), HasSubstr("added_tokens_decoder: expected ids of 0 to 1048575 as names"));
  EXPECT_THAT(refusal(R"({"99999999999":{"content":"a"}})"), HasSubstr("as names"));
  EXPECT_THAT(refusal(R"({"2048":{}})"), HasSubstr("2048: the key 'content' is missing"));
  EXPECT_THAT(refusal("[]"), HasSubstr("tokenizer_config.json: added_tokens_decoder"));
}

TEST(OpenModel, TheTokenizerJsonComesFirstAndSaysTheStartToken) {
  ModelFolder folder;
  folder.config["bos_token_id"] = 7;
  folder.config["eos_token_id"] = 8;
  folder.write();
  folder.folder().write("tokenizer.model", "no tokenizer");
  folder.folder().write("tokenizer.json", R"({"decoder":{"type":"ByteLevel"},"pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false},
    "model":{"type":"BPE","vocab":{"a":0,"b":1,"ab":2},"merges":["a b"]}})");
  folder.folder().write("generation_config.json", R"({"eos_token_id":[3,5]})");
  const ModelFiles model = open_model(folder.path());
  EXPECT_EQ(model.tokenizer_file, "tokenizer.json");
  EXPECT_EQ(model.tokenizer->encode("aba"), (std::vector<int>{2, 0}));
  EXPECT_EQ(model.config.bos_id, -1);
  EXPECT_EQ(model.end_ids, (std::vector<int>{3, 5}));
  folder.folder().write("generation_config.json", "{}");
  EXPECT_EQ(open_model(folder.path()).end_ids, std::vector<int>{8});
}

TEST(OpenModel, OpensTheModelsOfThisRepository) {
  const ModelFiles kvmini = open_model(in_checkout("assets/models/kvmini/"));
  EXPECT_EQ(kvmini.config.name, "kvmini");
  EXPECT_EQ(kvmini.config.n_layers, 6);
  EXPECT_TRUE(kvmini.config.tied_embeddings);
  EXPECT_EQ(kvmini.layers[5].wk.dtype, DType::f16);
  EXPECT_TRUE(kvmini.has_tokenizer);
  EXPECT_EQ(kvmini.weight_bytes, 12'851'712u);
  EXPECT_EQ(open_model(in_checkout("tests/golden/tiny-gqa")).layers[0].wq.dtype, DType::f32);
  EXPECT_EQ(open_model(in_checkout("tests/golden/tiny-mha")).embedding.dtype, DType::bf16);
}

TEST(OpenModel, OpensAModelOfOthers) {
  const char* set = std::getenv("KVSCOPE_SHARED");
  const fs::path folder = fs::path(set ? std::string(set) : in_checkout("../shared")) / "models" / "stories260K";
  if (!fs::exists(folder)) GTEST_SKIP() << "no stories260K; set KVSCOPE_SHARED to the folder above models/";
  const ModelFiles model = open_model(folder.string());
  EXPECT_EQ(model.config.name, "stories260K");
  EXPECT_EQ(model.config.hidden_dim, 172);
  EXPECT_EQ(model.tokenizer->vocab_size(), 512);
  EXPECT_EQ(model.tokenizer->decode(model.tokenizer->encode("Once upon a time")), "Once upon a time");
}

}  // namespace
}  // namespace kvscope
