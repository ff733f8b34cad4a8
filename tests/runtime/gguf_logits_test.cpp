// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "arch/model_folder.h"
#include "core/dequantise.h"
#include "core/half.h"
#include "io/files.h"
#include "policy/catalog.h"
#include "runtime/forward.h"
#include "runtime/prompt/prompt_run.h"
#include "shared_files.h"
#include "tests/runtime/runs.h"

namespace kvscope {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using test::TempFolder;

std::vector<double> logits_after(const std::string& path, const std::vector<int>& ids, DType precision) {
  ModelFiles files = open_model(path);
  const auto backend = make_cpu_backend(precision, files.config, {.n_threads = 2});
  const Model model = load_model(std::move(files), *backend);
  Forward forward(*backend, model);
  PromptRun prompt(*backend, model);
  const CancelToken never;
  prompt.update(ids, PromptNeeds{}, forward, never, {});
  return prompt.logits();
}

/// The same model as a folder of float32 safetensors in the words of Hugging Face.
void write_dequantised(const ModelFiles& model, const TempFolder& folder) {
  const ModelConfig& c = model.config;
  const json config = {{"model_type", c.arch},
                       {"hidden_size", c.dim},
                       {"intermediate_size", c.hidden_dim},
                       {"num_hidden_layers", c.n_layers},
                       {"num_attention_heads", c.n_heads},
                       {"num_key_value_heads", c.n_kv_heads},
                       {"head_dim", c.head_dim},
                       {"vocab_size", c.vocab_size},
                       {"max_position_embeddings", c.max_positions},
                       {"rms_norm_eps", c.norm_eps},
                       {"tie_word_embeddings", true},
                       {"bos_token_id", c.bos_id}};
  folder.write("config.json", config.dump());
  json header = json::object();
  std::string data;
  const auto put = [&](const std::string& name, const TensorView& tensor) {
    std::size_t n = 1;
    for (const std::int64_t size : tensor.shape) n *= static_cast<std::size_t>(size);
    std::vector<float> numbers(n);
    if (is_quantised(tensor.dtype)) {
      dequantise(tensor.dtype, tensor.bytes.data(), n, numbers.data());
    } else if (tensor.dtype == DType::f32) {
      std::memcpy(numbers.data(), tensor.bytes.data(), n * 4);
    } else {
      ASSERT_EQ(tensor.dtype, DType::f16);
      std::vector<std::uint16_t> halves(n);
      std::memcpy(halves.data(), tensor.bytes.data(), n * 2);
      std::ranges::transform(halves, numbers.begin(), half_to_float);
    }
    header[name] = {{"dtype", "F32"}, {"shape", tensor.shape}, {"data_offsets", {data.size(), data.size() + n * 4}}};
    data.append(reinterpret_cast<const char*>(numbers.data()), n * 4);
  };
  put("model.embed_tokens.weight", model.embedding);
  put("model.norm.weight", model.final_norm);
  for (std::size_t l = 0; l < model.layers.size(); ++l) {
    const LayerTensors& t = model.layers[l];
    const std::string layer = "model.layers." + std::to_string(l) + ".";
    put(layer + "input_layernorm.weight", t.attn_norm);
    put(layer + "self_attn.q_proj.weight", t.wq);
    put(layer + "self_attn.k_proj.weight", t.wk);
    put(layer + "self_attn.v_proj.weight", t.wv);
    put(layer + "self_attn.o_proj.weight", t.wo);
    put(layer + "post_attention_layernorm.weight", t.ffn_norm);
    put(layer + "mlp.gate_proj.weight", t.w_gate);
    put(layer + "mlp.up_proj.weight", t.w_up);
    put(layer + "mlp.down_proj.weight", t.w_down);
  }
  std::string file = test::safetensors(header.dump(), 0);
  folder.write("model.safetensors", file + data);
}

const std::string& tiny() {
  static const std::string path = in_checkout("tests/data/gguf/tiny.gguf");
  return path;
}

TEST(GgufLogits, AreThoseOfTheDequantisedModel) {
  const TempFolder folder;
  write_dequantised(open_model(tiny()), folder);
  const std::vector<int> ids = testing::random_ids(40, 264, 5);
  const std::vector<double> exact = logits_after(folder.path(), ids, DType::f64);
  EXPECT_EQ(logits_after(tiny(), ids, DType::f64), exact);
  EXPECT_LT(testing::largest_difference(logits_after(tiny(), ids, DType::f32), exact), 1e-4);  // they reach 20
}

TEST(GgufLogits, AQuantisedModelIsCompressedAsTheDequantisedOne) {
  const TempFolder folder;
  write_dequantised(open_model(tiny()), folder);
  RunRequest request;
  request.prompt_ids = testing::random_ids(50, 264, 6);
  request.n_generate = 8;
  request.lanes = parse_lane_specs({"full", "h2o:slots=16", "criticalkv:slots=16", "keepkv:slots=16"});
  Session quantised(open_model(tiny()), {.precision = DType::f64, .n_threads = 2});
  Session plain(open_model(folder.path()), {.precision = DType::f64, .n_threads = 2});
  testing::expect_same_run(testing::run(quantised, request), testing::run(plain, request));
}

/// Models with logits of transformers in float64 over gguf-py's numbers, and of llama.cpp.
class SharedModels : public ::testing::Test {
 protected:
  void SetUp() override {
    const fs::path archive = test::shared_file("models/gguf/gguf.tar.xz");
    if (!fs::exists(archive)) GTEST_SKIP() << "no GGUF files; set KVSCOPE_SHARED to the folder above models/";
    ASSERT_TRUE(test::unpack(archive, folder));
  }
  /// In float64 as exact as the reference is written, in float32 within what that rounds.
  void expect_logits(const std::string& file, const json& reference, const json& prompts, double exact_within = 1e-6) {
    for (std::size_t p = 0; p < prompts.size(); ++p) {
      const auto ids = prompts[p].get<std::vector<int>>();
      const auto exact = reference["logits_exact"][p].get<std::vector<double>>();
      const std::vector<double> wide = logits_after(folder / file, ids, DType::f64), narrow = logits_after(folder / file, ids, DType::f32);
      EXPECT_LT(testing::largest_difference(wide, exact), exact_within) << file << " prompt " << p;
      EXPECT_LT(testing::largest_difference(narrow, exact), 2e-4) << file << " prompt " << p;
      const auto most_likely = [](const std::vector<double>& logits) { return std::ranges::max_element(logits) - logits.begin(); };
      EXPECT_EQ(most_likely(wide), most_likely(exact)) << file << " prompt " << p;
      // llama.cpp rounds activations to 8 bits where weights are quantised: its logits differ from ours by as much as from the reference's,
      // and its most likely token is ours wherever the second one is further away than that.
      const auto others = reference["logits_llamacpp"][p].get<std::vector<double>>();
      const double apart = testing::largest_difference(exact, others);
      EXPECT_NEAR(testing::largest_difference(wide, others), apart, exact_within);
      std::vector<double> sorted = exact;
      std::ranges::partial_sort(sorted, sorted.begin() + 2, std::greater());
      if (sorted[0] - sorted[1] <= 2 * apart) continue;
      EXPECT_EQ(most_likely(wide), most_likely(others)) << file << " prompt " << p;
      ++n_alike;
    }
  }
  TempFolder folder;
  int n_alike = 0;  // prompts after which llama.cpp must agree
};

TEST_F(SharedModels, OfEveryTypeHaveTheReferencesLogits) {
  int n = 0;
  for (const char* model : {"kvmini", "qwen2-256"}) {
    const json file = json::parse(read_text(folder / (std::string(model) + ".reference.json")));
    for (const auto& [type, reference] : file["types"].items()) {
      const auto path = reference["file"].get<std::string>();
      if (!fs::exists(folder / path)) continue;
      expect_logits(path, reference, file["prompts"]);
      ++n;
    }
  }
  EXPECT_EQ(n, 11);
}

TEST_F(SharedModels, OfEveryArchitectureHaveTheReferencesLogits) {
  for (const std::string model : {"llama3", "llama-yarn", "mistral-swa", "qwen2", "qwen3", "granite", "smollm3", "olmo2", "phi3",
                                  "phi3-partial", "gemma", "gemma2", "gemma3_text", "gemma3_text-linear"}) {
    const json file = json::parse(read_text(folder / ("arch/" + model + ".reference.json")));
    const bool has_rounded_divisors = model.starts_with("phi3");  // a GGUF has them in float32
    expect_logits("arch/" + model + "-F16.gguf", file, file["prompts"], has_rounded_divisors ? 1e-5 : 1e-6);
  }
  EXPECT_GE(n_alike, 4);
}

}  // namespace
}  // namespace kvscope
