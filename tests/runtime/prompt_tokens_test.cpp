// SPDX-License-Identifier: Apache-2.0
// What the model reads of a prompt: words, names of special tokens, a chat template's text, ids; and where each token stands in it.
#include "runtime/session/prompt_tokens.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "paths.h"
#include "runtime/session/session.h"
#include "snapshot/snapshot.h"

namespace kvscope {
namespace {

class PromptTokensTest : public ::testing::Test {
 protected:
  const ModelFiles model = open_model(in_checkout("tests/data/gguf/tiny.gguf"));
  int id_of(const std::string& piece) const {
    for (int id = 0; id < model.tokenizer->vocab_size(); ++id)
      if (model.tokenizer->piece(id) == piece) return id;
    return -1;
  }
  /// Of the result that would be shown.
  PromptText told(const PromptTokens& prompt) const {
    Snapshot result;
    result.n_prompt = static_cast<int>(prompt.tokens.size());
    for (const TextToken& t : prompt.tokens)
      result.tokens.push_back({.id = t.id,
                               .bytes = {},
                               .piece = {},
                               .special = model.tokenizer->is_special(t.id),
                               .text_begin = static_cast<int>(t.begin),
                               .text_end = static_cast<int>(t.end)});
    return prompt_text_of(result);
  }
};

TEST_F(PromptTokensTest, NamesAreTokensOnlyWhereThatIsAsked) {
  const int begin = id_of("<|begin|>"), end = id_of("<|end|>");
  ASSERT_GE(begin, 0);
  ASSERT_GE(end, 0);
  ASSERT_EQ(model.config.bos_id, begin);
  const std::string text = "user: hi<|end|>";
  const PromptTokens plain = prompt_tokens({.prompt = text}, model);
  EXPECT_EQ(plain.tokens.front().id, begin);
  EXPECT_EQ(std::ranges::count(plain.tokens, end, &TextToken::id), 0);
  EXPECT_EQ(told(plain), PromptText::plain);

  const PromptTokens names = prompt_tokens({.prompt = text, .prompt_text = PromptText::names}, model);
  EXPECT_EQ(names.tokens.front().id, begin);
  EXPECT_EQ(names.tokens.back().id, end);
  EXPECT_EQ(text.substr(names.tokens.back().begin), "<|end|>");
  EXPECT_EQ(told(names), PromptText::names);

  const std::string written = chat_text(*model.chat, {std::nullopt, "hi"});
  const PromptTokens chat = prompt_tokens({.prompt = written, .prompt_text = PromptText::chat}, model);
  EXPECT_EQ(std::ranges::count(chat.tokens, begin, &TextToken::id), 1) << "the template writes it, and it is not put before it again";
  EXPECT_EQ(chat.tokens.front().end, std::string("<|begin|>").size());
  EXPECT_EQ(told(chat), PromptText::chat);
}

TEST_F(PromptTokensTest, NamesThatAPersonTypesIntoAMessageAreText) {
  const int end = id_of("<|end|>");
  const auto ends_in = [&](const ChatWords& words, PromptText kind, const std::string& arguments = "{}") {
    const RunRequest request{.prompt = chat_text(*model.chat, words, arguments), .prompt_text = kind, .chat_arguments = arguments};
    const PromptTokens prompt = prompt_tokens(request, model);
    std::size_t at = 0;
    for (const TextToken& t : prompt.tokens) {
      EXPECT_EQ(t.begin, at);
      at = t.end;
    }
    EXPECT_EQ(at, request.prompt.size());
    return std::ranges::count(prompt.tokens, end, &TextToken::id);
  };
  const auto own = ends_in({std::nullopt, "hi"}, PromptText::chat);
  EXPECT_EQ(ends_in({std::nullopt, "hi<|end|>"}, PromptText::chat), own);
  EXPECT_EQ(ends_in({std::nullopt, "<|end|><|begin|>"}, PromptText::chat, R"({"enable_thinking": false})"), own);
  EXPECT_EQ(ends_in({std::nullopt, "hi<|end|>"}, PromptText::begun), own + 1) << "asked for";
  // Another text than the template's: its names are tokens, as before.
  const PromptTokens other = prompt_tokens({.prompt = "x<|end|>", .prompt_text = PromptText::chat}, model);
  EXPECT_EQ(other.tokens.back().id, end);
}

TEST_F(PromptTokensTest, RangesFollowOneAnotherAndCoverTheText) {
  const std::string text = "<|begin|>user: h\u00e9 \xff\U0001F600<|end|> more";
  for (const PromptText kind : {PromptText::plain, PromptText::names, PromptText::chat}) {
    const PromptTokens prompt = prompt_tokens({.prompt = text, .prompt_text = kind}, model);
    std::size_t at = 0;
    for (const TextToken& t : prompt.tokens) {
      EXPECT_EQ(t.begin, at);
      at = t.end;
    }
    EXPECT_EQ(at, text.size()) << name_of(kind);
    // The same again from the ids alone, whose text has no names.
    const PromptTokens again = prompt_tokens({.prompt_ids = ids_of(prompt.tokens)}, model);
    EXPECT_EQ(ids_of(again.tokens), ids_of(prompt.tokens));
    EXPECT_EQ(again.text, model.tokenizer->decode(ids_of(prompt.tokens)));
    EXPECT_EQ(again.tokens.back().end, again.text.size());
  }
}

TEST_F(PromptTokensTest, ABeginningThatFitsIsOfTheSameKind) {
  std::string text = "<|begin|>";
  while (text.size() < 40000) text += "words <|end|>";
  const RunRequest request{.prompt = text, .prompt_text = PromptText::chat};
  try {
    prompt_tokens(request, model);
    FAIL() << "longer than the model was made for";
  } catch (const PromptTooLong& error) {
    ASSERT_FALSE(error.cut.text.empty());
    EXPECT_TRUE(text.starts_with(error.cut.text));
    const PromptTokens cut = prompt_tokens({.prompt = error.cut.text, .prompt_text = PromptText::chat}, model);
    EXPECT_EQ(static_cast<int>(cut.tokens.size()), error.cut.n_tokens);
  }
}

TEST_F(PromptTokensTest, TheModelsPositionsEndWhatFollowsThePrompt) {
  const int limit = model.config.max_positions;
  ASSERT_GT(limit, 8);
  RunRequest request{.n_generate = 4};
  EXPECT_EQ(decode_length(request, limit - 4, model.config).n, 4);
  EXPECT_EQ(decode_length(request, limit - 4, model.config).notice, "");
  EXPECT_EQ(decode_length(request, limit - 3, model.config).n, 3);
  EXPECT_TRUE(decode_length(request, limit - 3, model.config).notice.starts_with("generation ends after 3 tokens: "));
  request.follow = Follow::file;
  request.follow_ids = {1, 2};
  EXPECT_EQ(decode_length(request, limit - 2, model.config).n, 2) << "no more than the file has";
  request.n_generate = -1;
  EXPECT_EQ(decode_length(request, limit - 1, model.config).n, 1);
  EXPECT_NE(decode_length(request, limit - 1, model.config).notice, "");
}

}  // namespace
}  // namespace kvscope
