// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <numbers>

#include "arch/model_files.h"
#include "core/error.h"
#include "io/gguf_builder.h"
#include "shared_files.h"

namespace kvscope {
namespace {

namespace fs = std::filesystem;
using test::GgufBuilder;
using test::message_of;
using test::TempFolder;
using testing::AllOf;
using testing::HasSubstr;
using Shape = std::vector<std::int64_t>;

constexpr std::uint32_t kF32 = 0, kQ8_0 = 8, kQ2_K = 10;

std::string file_error(const std::string& path) {
  return message_of<Error>([&] { open_model(path); });
}

/// Metadata and tensors of a small llama: dim 32, 1 layer, 2 query heads on 1 KV head of size 8, hidden 32, vocabulary 10.
class SmallModel {
 public:
  std::map<std::string, std::uint32_t> wholes = {{"llama.block_count", 1},          {"llama.context_length", 64},
                                                 {"llama.embedding_length", 32},    {"llama.feed_forward_length", 32},
                                                 {"llama.attention.head_count", 2}, {"llama.attention.head_count_kv", 1},
                                                 {"llama.attention.key_length", 8}, {"llama.rope.dimension_count", 8}};
  std::map<std::string, float> reals = {{"llama.attention.layer_norm_rms_epsilon", 1e-5f}};
  std::map<std::string, std::string> texts = {{"general.architecture", "llama"}};
  struct Tensor {
    std::uint32_t type;
    std::vector<std::uint64_t> dims;
    std::string bytes;
  };
  std::map<std::string, Tensor> tensors;

  SmallModel() {
    matrix("token_embd.weight", 10, 32);
    vector("output_norm.weight", 32);
    for (const char* norm : {"blk.0.attn_norm.weight", "blk.0.ffn_norm.weight"}) vector(norm, 32);
    matrix("blk.0.attn_q.weight", 16, 32);
    matrix("blk.0.attn_k.weight", 8, 32);
    matrix("blk.0.attn_v.weight", 8, 32);
    tensors["blk.0.attn_output.weight"] = {kF32, {16, 32}, std::string(4 * 512, '\0')};
    for (const char* part : {"blk.0.ffn_gate.weight", "blk.0.ffn_up.weight", "blk.0.ffn_down.weight"}) matrix(part, 32, 32);
  }
  /// Of Q8_0, each row of bytes with its number.
  void matrix(const std::string& name, std::uint64_t rows, std::uint64_t columns) {
    std::string bytes;
    for (std::uint64_t r = 0; r < rows; ++r) bytes += std::string(columns / 32 * 34, static_cast<char>(r));
    tensors[name] = {kQ8_0, {columns, rows}, bytes};
  }
  void vector(const std::string& name, std::uint64_t n) { tensors[name] = {kF32, {n}, std::string(4 * n, '\0')}; }

  GgufBuilder builder() const {
    GgufBuilder b;
    for (const auto& [key, value] : texts) b.text(key, value);
    for (const auto& [key, value] : wholes) b.u32(key, value);
    for (const auto& [key, value] : reals) b.f32(key, value);
    for (const auto& [name, tensor] : tensors) b.tensor(name, tensor.type, tensor.dims, tensor.bytes);
    return b;
  }
  std::string write() const { return folder_.write("m.gguf", builder().build()); }
  const TempFolder& folder() const { return folder_; }

 private:
  TempFolder folder_;
};

TEST(GgufModel, BindsTensorsAndReadsTheShape) {
  const SmallModel small;
  const ModelFiles model = open_model(small.write());
  EXPECT_EQ(model.config.arch, "llama");
  EXPECT_EQ(model.config.dim, 32);
  EXPECT_EQ(model.config.n_kv_heads, 1);
  EXPECT_EQ(model.config.head_dim, 8);
  EXPECT_EQ(model.config.vocab_size, 10);
  EXPECT_EQ(model.config.max_positions, 64);
  EXPECT_FLOAT_EQ(static_cast<float>(model.config.norm_eps), 1e-5f);
  EXPECT_TRUE(model.config.tied_embeddings);
  EXPECT_FALSE(model.has_tokenizer);
  EXPECT_EQ(model.embedding.dtype, DType::q8_0);
  EXPECT_EQ(model.layers[0].wo.shape, (Shape{32, 16}));
  EXPECT_EQ(model.layers[0].w_down.shape, (Shape{32, 32}));
  EXPECT_EQ(model.weight_bytes, 34u * (10 + 16 + 8 + 8 + 3 * 32) + 4u * (3 * 32 + 512));
}

TEST(GgufModel, RowsOfQueriesAndKeysGoBackToTheirHalves) {
  const SmallModel small;
  const ModelFiles model = open_model(small.write());
  const auto row = [](const TensorView& w, std::size_t r) { return std::to_integer<int>(w.bytes[r * 34]); };
  // In the file 0 1 | 2 3 | 4 5 | 6 7 are the pairs of the first head.
  const int halves[] = {0, 2, 4, 6, 1, 3, 5, 7};
  for (std::size_t r = 0; r < 8; ++r) {
    EXPECT_EQ(row(model.layers[0].wq, r), halves[r]);
    EXPECT_EQ(row(model.layers[0].wq, 8 + r), 8 + halves[r]);
    EXPECT_EQ(row(model.layers[0].wk, r), halves[r]);
    EXPECT_EQ(row(model.layers[0].wv, r), static_cast<int>(r));
  }
}

TEST(GgufModel, IsCheckedWithoutReadingItsWeights) {
  SmallModel small;
  const ModelFiles model = check_model(small.write());
  EXPECT_EQ(model.config.n_kv_heads, 1);
  EXPECT_EQ(model.weight_bytes, open_model(small.write()).weight_bytes);
  for (std::size_t r = 0; r < 16; ++r)
    EXPECT_EQ(std::to_integer<int>(model.layers[0].wq.bytes[r * 34]), static_cast<int>(r)) << "as in the file";
  small.tensors.erase("blk.0.ffn_up.weight");
  const std::string path = small.write();
  EXPECT_EQ(message_of<Error>([&] { check_model(path); }), file_error(path));
}

TEST(GgufModel, NamesWhatIsMissingOrOfAnotherShapeAsTheFileDoes) {
  for (const auto& [name, tensor] : SmallModel().tensors) {
    SmallModel small;
    small.tensors.erase(name);
    const std::string says = file_error(small.write());
    if (name != "token_embd.weight") {
      EXPECT_THAT(says, HasSubstr("tensor '" + name + "' is missing"));
    }
    EXPECT_NE(says, "") << name;
  }
  SmallModel small;
  small.matrix("blk.0.ffn_up.weight", 31, 32);
  EXPECT_THAT(file_error(small.write()),
              HasSubstr("tensor 'blk.0.ffn_up.weight' is [31, 32], its metadata says [hidden_dim, dim] = [32, 32]"));
  small.tensors["blk.0.ffn_up.weight"] = {kQ2_K, {256, 32}, std::string(84 * 32, '\0')};
  EXPECT_THAT(file_error(small.write()), AllOf(HasSubstr("tensor 'blk.0.ffn_up.weight' is Q2_K"), HasSubstr("or Q8_0, Q4_0")));
  for (const auto& [key, value] : SmallModel().wholes) {
    if (key.ends_with("dimension_count") || key.ends_with("_kv") || key.ends_with("key_length")) continue;
    SmallModel without;
    without.wholes.erase(key);
    EXPECT_THAT(file_error(without.write()), HasSubstr(key + ": is missing")) << key;
  }
}

TEST(GgufModel, RefusesWhatItCannotRun) {
  const auto with = [](const std::string& key, std::uint32_t value) {
    SmallModel small;
    small.wholes[key] = value;
    return file_error(small.write());
  };
  EXPECT_EQ(with("llama.vocab_size", 10), "");
  EXPECT_THAT(with("llama.attention.head_count", 0), HasSubstr("num_attention_heads: expected a whole number from 1"));
  EXPECT_THAT(with("llama.block_count", 0xffffffffu), HasSubstr("num_hidden_layers: expected a whole number from 1"));
  EXPECT_THAT(with("llama.expert_count", 8), HasSubstr("mixtures of experts are not supported"));
  EXPECT_THAT(with("llama.logit_scale", 8), HasSubstr("llama.logit_scale: is not supported"));
  EXPECT_THAT(with("llama.attention.sliding_window", 16), "");
  EXPECT_THAT(with("llama.attention.value_length", 4), HasSubstr("expected as many dimensions as keys have"));
  EXPECT_THAT(with("llama.rope.dimension_count", 4), HasSubstr("partial_rotary_factor"));
}

TEST(GgufModel, AnotherArchitectureIsRefusedWithTheReasonThatAFolderGets) {
  SmallModel small;
  const auto of = [&](const std::string& architecture) {
    small.texts["general.architecture"] = architecture;
    return file_error(small.write());
  };
  EXPECT_THAT(of("mamba"),
              AllOf(HasSubstr("general.architecture: models of the architecture 'mamba' do not open: some of their layers keep"),
                    HasSubstr(" (known: llama, ")));
  for (const char* latent : {"deepseek2", "minicpm3", "glm-dsa"}) EXPECT_THAT(of(latent), HasSubstr("(MLA)")) << latent;
  EXPECT_THAT(of("gpt-oss"), HasSubstr("a learned sink beside the tokens"));
  for (const char* experts : {"qwen3moe", "olmoe", "glm4moe", "llama4", "ernie4_5-moe", "hunyuan-moe", "minimax-m2", "dbrx"})
    EXPECT_THAT(of(experts), HasSubstr("experts (MoE)")) << experts;
  for (const char* states : {"jamba", "falcon-h1", "qwen3next", "qwen35", "granitehybrid", "kimi-linear", "rwkv7", "lfm2moe"})
    EXPECT_THAT(of(states), HasSubstr("a state of fixed size")) << states;
  for (const char* norms : {"gpt2", "gptneox", "phi2", "command-r", "stablelm"}) EXPECT_THAT(of(norms), HasSubstr("LayerNorm")) << norms;
  for (const char* sections : {"qwen2vl", "qwen3vl", "qwen3vlmoe"}) EXPECT_THAT(of(sections), HasSubstr("M-RoPE")) << sections;
  EXPECT_THAT(of("gemma3n"), HasSubstr("inputs of their own"));
  EXPECT_THAT(of("mistral3"), HasSubstr("scaled by their position"));
  EXPECT_THAT(of("nomic-bert"), HasSubstr("no decoders"));
  EXPECT_THAT(of("grande"), HasSubstr("general.architecture: unknown architecture 'grande' (known: llama, "));
  small.texts.clear();
  EXPECT_THAT(file_error(small.write()), HasSubstr("general.architecture: is missing"));
}

TEST(GgufModel, NumbersMustBeFinite) {
  for (const float bad : {std::nanf(""), INFINITY}) {
    SmallModel small;
    small.reals["llama.attention.layer_norm_rms_epsilon"] = bad;
    EXPECT_THAT(file_error(small.write()), HasSubstr("llama.attention.layer_norm_rms_epsilon: expected a finite number, got "));
    SmallModel other;
    other.reals["llama.rope.freq_base"] = bad;
    EXPECT_THAT(file_error(other.write()), HasSubstr("llama.rope.freq_base: expected a finite number, got "));
  }
}

TEST(GgufModel, ANumberMayStandOnceForEachLayerIfItIsTheSame) {
  const auto with = [](const std::string& key, const std::vector<std::int32_t>& values) {
    SmallModel small;
    small.wholes.erase(key);
    const TempFolder folder;
    const std::string path = folder.write("m.gguf", small.builder().i32s(key, values).build());
    return message_of<Error>([&] {
      const ModelFiles model = open_model(path);
      EXPECT_EQ(model.config.n_kv_heads, 1);
      EXPECT_EQ(std::to_integer<int>(model.layers[0].wk.bytes[34]), 2) << "rows in the order of one head";
    });
  };
  EXPECT_EQ(with("llama.attention.head_count_kv", {1}), "");
  EXPECT_EQ(with("llama.attention.head_count", {2}), "");
  EXPECT_EQ(with("llama.feed_forward_length", {32}), "");
  EXPECT_THAT(with("llama.attention.head_count_kv", {1, 1}),
              HasSubstr("llama.attention.head_count_kv: expected a number for each of 1 layers, got 2"));
  EXPECT_THAT(with("llama.attention.head_count_kv", {}), HasSubstr("expected a number for each of 1 layers, got 0"));
  SmallModel two;
  two.wholes["llama.block_count"] = 2;
  two.wholes.erase("llama.attention.head_count_kv");
  const std::string path = two.folder().write("m.gguf", two.builder().i32s("llama.attention.head_count_kv", {1, 2}).build());
  EXPECT_THAT(file_error(path),
              HasSubstr("llama.attention.head_count_kv: expected the same number in all layers, got 1 in the first and 2 in layer 1"));
}

TEST(GgufModel, FindsTheScalingThatDivisorsOfFrequenciesComeFrom) {
  SmallModel small;
  small.reals["llama.rope.freq_base"] = 500000;
  const double factor = 32, original = 8192;
  std::string bytes;
  for (int i = 0; i < 4; ++i) {
    const double turns = original * std::pow(500000.0, -2.0 * i / 8) / (2 * std::numbers::pi), mix = (turns - 1) / 3;
    const auto divisor = static_cast<float>(turns < 1 ? factor : turns > 4 ? 1 : 1 / ((1 - mix) / factor + mix));
    bytes += GgufBuilder::bytes_of(divisor);
  }
  small.tensors["rope_freqs.weight"] = {kF32, {4}, bytes};
  const ModelFiles model = open_model(small.write());
  EXPECT_EQ(model.config.ropes[0].scaling.kind, RopeScaling::Kind::llama3);
  EXPECT_EQ(model.config.ropes[0].scaling.factor, 32);
  const float other = 3;
  std::memcpy(small.tensors["rope_freqs.weight"].bytes.data(), &other, 4);
  EXPECT_THAT(file_error(small.write()), HasSubstr("expected divisors of the frequencies as Llama 3.1 has them"));
}

TEST(GgufModel, OpensTheFilesOfASplitModelByTheFirst) {
  const SmallModel small;
  const auto part = [&](std::uint32_t number, bool layer) {
    GgufBuilder b;
    if (number == 0) {
      for (const auto& [key, value] : small.texts) b.text(key, value);
      for (const auto& [key, value] : small.wholes) b.u32(key, value);
      for (const auto& [key, value] : small.reals) b.f32(key, value);
    }
    b.u32("split.no", number).u32("split.count", 2).i32s("split.tensors", {}).u32("split.tensors.count", 11);
    for (const auto& [name, tensor] : small.tensors)
      if (name.starts_with("blk.") == layer) b.tensor(name, tensor.type, tensor.dims, tensor.bytes);
    return b.build();
  };
  const TempFolder folder;
  const std::string first = folder.write("m-00001-of-00002.gguf", part(0, true));
  EXPECT_THAT(file_error(first), HasSubstr("m-00002-of-00002.gguf: is missing, m-00001-of-00002.gguf is part 1 of 2"));
  const std::string second = folder.write("m-00002-of-00002.gguf", part(1, false));
  const ModelFiles model = open_model(first);
  EXPECT_EQ(model.files.size(), 2u);
  EXPECT_EQ(model.config.vocab_size, 10);
  EXPECT_EQ(file_error(second), second + ": is part 2 of 2; open the first one, m-00001-of-00002.gguf");
  folder.write("m-00002-of-00002.gguf", part(0, false));
  EXPECT_THAT(file_error(first), HasSubstr("expected part 2 of 2, got part 1 of 2"));
  folder.write("m-00002-of-00002.gguf", part(1, true));
  EXPECT_THAT(file_error(first), HasSubstr("expected 11 tensors in all parts, got"));
  EXPECT_THAT(file_error(folder.write("other.gguf", part(0, true))), HasSubstr("expected a name that ends in -00001-of-00002.gguf"));
}

TEST(GgufModel, OpensTheModelOfThisRepository) {
  const ModelFiles model = open_model(in_checkout("tests/data/gguf/tiny.gguf"));
  EXPECT_EQ(model.config.name, "tiny of all types");
  EXPECT_EQ(model.tokenizer_file, "tiny.gguf");
  EXPECT_EQ(model.layers[0].wk.dtype, DType::q5_k);
  EXPECT_EQ(model.layers[0].w_up.dtype, DType::iq4_nl);
  EXPECT_EQ(model.tokenizer->first_id(), model.config.vocab_size - 2);
  EXPECT_EQ(model.config.bos_id, model.config.vocab_size - 2);
  EXPECT_EQ(model.end_ids, std::vector<int>{model.config.vocab_size - 1});
  EXPECT_EQ(model.tokenizer->encode("the in"), (std::vector<int>{257, 32, 259}));
}

TEST(GgufModel, AFolderWithOneSaysToOpenTheFile) {
  const TempFolder folder;
  folder.write("config.json", R"({"model_type":"llama","hidden_size":32,"intermediate_size":32,"num_hidden_layers":1,
    "num_attention_heads":2,"vocab_size":10})");
  folder.write("model.gguf", SmallModel().builder().build());
  EXPECT_THAT(file_error(folder.path()), HasSubstr("got only 'model.gguf'; open that file itself"));
}

TEST(GgufModel, HostileFilesAreASentence) {
  const fs::path hostile = test::shared_file("models/gguf/hostile");
  if (!fs::exists(hostile)) GTEST_SKIP() << "no hostile files; set KVSCOPE_SHARED to the folder above models/";
  int n = 0;
  for (const auto& entry : fs::directory_iterator(hostile)) {
    if (entry.path().extension() != ".gguf") continue;
    const std::string message = file_error(entry.path().string());
    EXPECT_THAT(message, HasSubstr(entry.path().filename().string()));
    EXPECT_EQ(message.find('\n'), std::string::npos);
    ++n;
  }
  EXPECT_GE(n, 33);
}

}  // namespace
}  // namespace kvscope
