// SPDX-License-Identifier: Apache-2.0
#include "arch/gguf_tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "arch/chat_files.h"
#include "arch/model_files.h"
#include "core/error.h"
#include "io/gguf_builder.h"
#include "io/safetensors_builder.h"
#include "paths.h"
#include "shared_files.h"
#include "tokenizer/cases.h"

namespace kvscope {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using test::GgufBuilder;
using test::message_of;
using test::TempFolder;
using testing::HasSubstr;

std::string own(const std::string& name) { return in_checkout("tests/tokenizer/data/" + name); }

/// The vocabulary of a tokenizer.json as the converter of such models writes it.
struct Vocabulary {
  explicit Vocabulary(const std::string& name) {
    const json file = json::parse(read_text(own(name + ".json")));
    for (const auto& [token, id] : file["model"]["vocab"].items()) put(token, id, token.starts_with("<0x") ? 6 : 1);
    for (const json& added : file["added_tokens"]) put(added["content"], added["id"], added["special"].get<bool>() ? 3 : 4);
    for (const json& merge : file["model"]["merges"])
      merges.push_back(merge.is_string() ? merge.get<std::string>() : merge[0].get<std::string>() + " " + merge[1].get<std::string>());
  }
  void put(const std::string& token, int id, int kind) {
    const auto at = static_cast<std::size_t>(id);
    if (tokens.size() <= at) {
      tokens.resize(at + 1);
      kinds.resize(at + 1, 1);
    }
    tokens[at] = token;
    kinds[at] = kind;
  }
  GgufBuilder builder(const std::string& model) const {
    GgufBuilder b;
    b.text("tokenizer.ggml.model", model).texts("tokenizer.ggml.tokens", tokens).i32s("tokenizer.ggml.token_type", kinds);
    return b;
  }

  std::vector<std::string> tokens, merges;
  std::vector<std::int32_t> kinds;
};

std::unique_ptr<Tokenizer> open(const GgufBuilder& builder) {
  const std::string bytes = builder.build();
  return open_gguf_tokenizer(GgufFile::parse(test::as_bytes(bytes), "m.gguf"));
}
std::string tokenizer_error(const GgufBuilder& builder) {
  return message_of<Error>([&] { open(builder); });
}

GgufBuilder byte_words() {
  const Vocabulary vocabulary("byte_words");
  GgufBuilder b = vocabulary.builder("gpt2");
  b.texts("tokenizer.ggml.merges", vocabulary.merges).u32("tokenizer.ggml.bos_token_id", 0);
  return b;
}

TEST(GgufTokenizer, BytePairsAreThoseOfTheSameTokenizerJson) {
  GgufBuilder b = byte_words();
  const auto tokenizer = open(b.text("tokenizer.ggml.pre", "llama-bpe"));
  test::expect_cases(*tokenizer, own("byte_words.cases.json"));
  EXPECT_EQ(tokenizer->first_id(), 0);
}

TEST(GgufTokenizer, ScoredPiecesAreThoseOfTheSameTokenizerJson) {
  const Vocabulary vocabulary("fallback");
  std::vector<float> scores(vocabulary.tokens.size(), -1e6f);
  for (std::size_t rank = 0; rank < vocabulary.merges.size(); ++rank) {
    std::string whole = vocabulary.merges[rank];
    whole.erase(whole.find(' '), 1);
    const auto id = static_cast<std::size_t>(std::ranges::find(vocabulary.tokens, whole) - vocabulary.tokens.begin());
    scores[id] = std::max(scores[id], -static_cast<float>(rank));
  }
  GgufBuilder b = vocabulary.builder("llama");
  const auto tokenizer = open(b.f32s("tokenizer.ggml.scores", scores).u32("tokenizer.ggml.unknown_token_id", 0));
  test::expect_cases(*tokenizer, own("fallback.cases.json"));
  EXPECT_EQ(tokenizer->first_id(), 1);
  EXPECT_TRUE(tokenizer->adds_leading_space());
  EXPECT_EQ(open(b.flag("tokenizer.ggml.add_bos_token", false))->first_id(), -1);
  EXPECT_FALSE(open(b.flag("tokenizer.ggml.add_space_prefix", false))->adds_leading_space());
}

TEST(GgufTokenizer, EncodesAndDecodesRealVocabularies) {
  const fs::path shared = test::shared_file("tokenizers");
  if (!fs::exists(shared)) GTEST_SKIP() << "no vocabularies; set KVSCOPE_SHARED to the folder above tokenizers/";
  int n = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(shared)) {
    const std::string name = entry.path().filename().string();
    const fs::path archive = entry.path() / (name + ".tar.xz");
    if (!fs::exists(archive)) continue;
    SCOPED_TRACE(name);
    const TempFolder folder;
    ASSERT_TRUE(test::unpack(archive, folder));
    const TokenizerFile file = open_tokenizer_file(folder / ("ggml-vocab-" + name + ".gguf"));
    ASSERT_NE(file.tokenizer, nullptr);
    test::expect_cases(*file.tokenizer, folder / "cases.json");
    ++n;
  }
  EXPECT_GT(n, 0);
}

TEST(GgufTokenizer, SaysWhatItDoesNotKnowAndWhatDoesNotFit) {
  const auto with = [](const auto& change) {
    GgufBuilder b = byte_words();
    change(b);
    return tokenizer_error(b);
  };
  EXPECT_THAT(with([](GgufBuilder&) {}), HasSubstr("tokenizer.ggml.pre: is missing"));
  EXPECT_THAT(with([](GgufBuilder& b) { b.text("tokenizer.ggml.pre", "new"); }),
              HasSubstr("unknown way to make words 'new' (known: gpt-2, "));
  EXPECT_THAT(with([](GgufBuilder& b) { b.text("tokenizer.ggml.pre", "llama-bpe").flag("tokenizer.ggml.add_bos_token", true); }), "");
  const auto of = [](const std::string& model) {
    GgufBuilder b;
    b.text("tokenizer.ggml.model", model);
    return b;
  };
  EXPECT_EQ(open(GgufBuilder()), nullptr);
  EXPECT_THAT(tokenizer_error(of("bert")), HasSubstr("unknown kind of tokenizer 'bert' (known: gpt2, llama)"));
  EXPECT_THAT(tokenizer_error(of("llama")), HasSubstr("tokenizer.ggml.tokens: is missing"));
  EXPECT_THAT(tokenizer_error(of("llama").texts("tokenizer.ggml.tokens", {})), HasSubstr("expected 1 to 1048576 tokens, got 0"));
  GgufBuilder two = of("llama").texts("tokenizer.ggml.tokens", {"a", "b"});
  EXPECT_THAT(tokenizer_error(two), HasSubstr("tokenizer.ggml.scores: is missing"));
  EXPECT_THAT(tokenizer_error(GgufBuilder(two).f32s("tokenizer.ggml.scores", {1})),
              HasSubstr("expected a score for each of 2 tokens, got 1"));
  EXPECT_THAT(tokenizer_error(GgufBuilder(two).i32s("tokenizer.ggml.token_type", {1})),
              HasSubstr("expected a kind for each of 2 tokens, got 1"));
  EXPECT_THAT(tokenizer_error(GgufBuilder(two).f32s("tokenizer.ggml.scores", {1, 1}).u32("tokenizer.ggml.bos_token_id", 2)),
              HasSubstr("tokenizer.ggml.bos_token_id: expected the id of one of 2 tokens, got 2"));
  GgufBuilder pairs = of("gpt2").text("tokenizer.ggml.pre", "gpt-2").texts("tokenizer.ggml.tokens", {"a", "b"});
  EXPECT_THAT(tokenizer_error(pairs), HasSubstr("tokenizer.ggml.merges: is missing"));
  for (const auto& [merge, says] : std::map<std::string, std::string>{{"a b", "'ab' is no token"},
                                                                      {"ab", "expected two names and a space"},
                                                                      {" a", "expected two names and a space"},
                                                                      {"a ", "expected two names and a space"},
                                                                      {"", "expected two names and a space"},
                                                                      {"c b", "'c' is no token"}})
    EXPECT_THAT(tokenizer_error(GgufBuilder(pairs).texts("tokenizer.ggml.merges", {merge})), HasSubstr(says)) << merge;
}

TEST(GgufTokenizer, IdsThatOnlyFillUpAreNoTokens) {
  GgufBuilder b;
  b.text("tokenizer.ggml.model", "gpt2").text("tokenizer.ggml.pre", "gpt-2").texts("tokenizer.ggml.merges", {"a b"});
  b.texts("tokenizer.ggml.tokens", {"a", "b", "ab", "[PAD3]", "[PAD7]"}).i32s("tokenizer.ggml.token_type", {1, 1, 1, 4, 4});
  const auto tokenizer = open(b);
  EXPECT_EQ(tokenizer->vocab_size(), 5);
  EXPECT_TRUE(tokenizer->is_special(3));
  EXPECT_EQ(tokenizer->encode("ab[PAD7]"), (std::vector<int>{2, 4}));
  EXPECT_EQ(tokenizer->first_id(), -1);
}

TEST(GgufTokenizer, TheChatTemplateComesWithTheNamesOfItsTokens) {
  const auto chat = open_chat_template(in_checkout("tests/data/gguf/tiny.gguf"));
  ASSERT_TRUE(chat);
  EXPECT_EQ(chat->render({{"user", "hello"}}, true), "<|begin|>user: hello<|end|>");
  EXPECT_FALSE(open_chat_template(in_checkout("tests/data/gguf/types.gguf")));
}

}  // namespace
}  // namespace kvscope
