// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "core/error.h"
#include "io/temp_folder.h"
#include "paths.h"
#include "tokenizer/parts.h"

namespace kvscope {
namespace {

using test::message_of;
using test::TempFolder;
using testing::HasSubstr;

const std::string kModel = in_checkout("assets/models/kvmini/tokenizer.model");

std::string read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class SentencePiece : public testing::Test {
 protected:
  std::unique_ptr<Tokenizer> tokenizer = open_sentencepiece(kModel);
};

TEST_F(SentencePiece, RoundTripsEveryByteOfValidText) {
  const std::string texts[] = {
      "Hello world",  " leading", "  two  spaces ",   "tab\tand\nnewlines\n\n",      "Привет, мир", "日本語 𝛼 \xf0\x9f\x99\x82", "a",
      "x = 3.14159;", "\n",       "ends with space ", std::string("nul\0inside", 10)};
  for (const std::string& text : texts) EXPECT_EQ(tokenizer->decode(tokenizer->encode(text)), text);
  EXPECT_TRUE(tokenizer->encode("").empty());
}

TEST_F(SentencePiece, PutsASpaceBeforeTheTextAndTakesItAwayOnce) {
  EXPECT_TRUE(tokenizer->adds_leading_space());
  const std::vector<int> ids = tokenizer->encode("Helen");
  std::string bytes;
  for (const int id : ids) bytes += tokenizer->bytes_of(id);
  EXPECT_EQ(bytes, " Helen");
  EXPECT_EQ(tokenizer->decode(ids), "Helen");
}

TEST_F(SentencePiece, BytePiecesJoinToTheCharacterAndAnIncompleteOneStays) {
  const std::vector<int> ids = tokenizer->encode("\xf0\x9f\x99\x82");  // not in the vocabulary: four byte pieces after the space
  ASSERT_GE(ids.size(), 4u);
  EXPECT_EQ(tokenizer->piece(ids.back()), "<0x82>");
  EXPECT_EQ(tokenizer->bytes_of(ids.back()), "\x82");
  EXPECT_EQ(tokenizer->decode({ids.begin(), ids.end() - 1}), "\xf0\x9f\x99");
}

TEST_F(SentencePiece, InvalidUtf8BecomesTheReplacementCharacter) {
  EXPECT_EQ(tokenizer->decode(tokenizer->encode("a\xff"
                                                "b")),
            "a\xef\xbf\xbd"
            "b");
}

TEST_F(SentencePiece, ControlPiecesAreSpecialAndNoPartOfTheText) {
  EXPECT_EQ(tokenizer->vocab_size(), 2048);
  EXPECT_EQ(tokenizer->piece(0), "<unk>");
  EXPECT_EQ(tokenizer->piece(1), "<s>");
  EXPECT_EQ(tokenizer->piece(2), "</s>");
  for (int id = 0; id < 3; ++id) {
    EXPECT_TRUE(tokenizer->is_special(id));
    EXPECT_EQ(tokenizer->bytes_of(id), "");
  }
  std::vector<int> ids = tokenizer->encode("text");
  EXPECT_FALSE(tokenizer->is_special(ids[0]));
  ids.insert(ids.begin(), 1);
  EXPECT_EQ(tokenizer->decode(ids), "text");
  for (const int id : tokenizer->encode("<s>")) EXPECT_FALSE(tokenizer->is_special(id));  // text never becomes control
}

/// Where names are asked for they are tokens, but for those that a person typed; what stands between them is a text of its own.
TEST_F(SentencePiece, NamesOfControlPiecesAreTokensWhereTheyAreAskedFor) {
  const std::string text = "Hi </s> you<s>";
  std::vector<int> want = tokenizer->encode("Hi ");
  want.push_back(2);
  const auto second = tokenizer->encode(" you");
  want.insert(want.end(), second.begin(), second.end());
  want.push_back(1);
  EXPECT_EQ(tokenizer->encode(text, SpecialNames::tokens), want);
  EXPECT_NE(tokenizer->encode(text), want);
  const std::vector<TextToken> tokens = tokenizer->tokens_of(text, SpecialNames::tokens);
  const auto end_of_text = std::ranges::find(tokens, 2, &TextToken::id);
  EXPECT_EQ(text.substr(end_of_text->begin, end_of_text->end - end_of_text->begin), "</s>");
  std::size_t at = 0;
  for (const TextToken& token : tokens) {
    EXPECT_EQ(token.begin, at);
    at = token.end;
  }
  EXPECT_EQ(at, text.size());
  const TextRange typed[] = {{0, 11}};
  const std::vector<int> of_names = ids_of(tokenizer->tokens_of(text, SpecialNames::tokens, typed));
  EXPECT_EQ(std::ranges::count(of_names, 2), 0) << "a person typed it";
  EXPECT_EQ(std::ranges::count(of_names, 1), 1);
}

TEST_F(SentencePiece, EveryByteValueHasAPieceOfThatByte) {
  std::vector<bool> seen(256, false);
  for (int id = 0; id < tokenizer->vocab_size(); ++id) {
    if (tokenizer->piece(id).starts_with("<0x")) seen[static_cast<unsigned char>(tokenizer->bytes_of(id).at(0))] = true;
  }
  EXPECT_THAT(seen, testing::Each(true));
}

TEST_F(SentencePiece, AnIdBeyondTheTokenizerIsAPillWithItsNumber) {  // embeddings are often padded
  for (const int id : {-1, 2048, 1 << 30}) {
    EXPECT_TRUE(tokenizer->is_special(id));
    EXPECT_EQ(tokenizer->bytes_of(id), "");
    EXPECT_EQ(tokenizer->piece(id), "⟨" + std::to_string(id) + "⟩");
  }
}

TEST_F(SentencePiece, GivesTheSameIdsFromManyThreads) {
  const std::string text = "The house number of Helen is 482.";
  const std::vector<int> expected = tokenizer->encode(text);
  std::vector<std::vector<int>> results(4);
  std::vector<std::thread> threads;
  for (auto& result : results) {
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) result = tokenizer->encode(text);
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_THAT(results, testing::Each(expected));
}

/// As transformers has them from tokenizer_config.json: control tokens that the model itself does not have.
TEST(OpenSentencePiece, TokensBesideTheModelAreFoundByTheirNames) {
  const std::vector<AddedToken> added = {{.id = 2048, .content = "<|im_start|>", .special = true},
                                         {.id = 2050, .content = "  tab"},
                                         {.id = 1, .content = "<s>", .special = true}};
  const auto plain = open_sentencepiece(kModel), tokenizer = open_sentencepiece(kModel, added);
  EXPECT_EQ(plain->vocab_size(), 2048);
  EXPECT_EQ(tokenizer->vocab_size(), 2051);
  const std::string text = "<s><|im_start|>user";
  std::vector<int> wanted = {1, 2048};
  for (const int id : plain->encode("user")) wanted.push_back(id);
  EXPECT_EQ(tokenizer->encode(text, SpecialNames::tokens), wanted);
  EXPECT_EQ(tokenizer->encode(text), plain->encode(text)) << "of a text that somebody types the names are letters";
  EXPECT_THAT(tokenizer->encode("a  tab"), testing::Contains(2050)) << "but for tokens that are no special ones";
  EXPECT_TRUE(tokenizer->is_special(2048));
  EXPECT_EQ(tokenizer->piece(2048), "<|im_start|>");
  EXPECT_EQ(tokenizer->bytes_of(2048), "");
  EXPECT_EQ(tokenizer->bytes_of(2050), "  tab");
  EXPECT_EQ(tokenizer->piece(2049), "⟨2049⟩") << "an id that nobody has named";
}

TEST(OpenSentencePiece, RefusesMissingEmptyForeignAndTruncatedFiles) {
  const TempFolder folder;
  EXPECT_THAT(message_of<Error>([&] { open_sentencepiece(folder / "none"); }),
              HasSubstr("none: expected a sentencepiece model, got no regular file"));
  EXPECT_THAT(message_of<Error>([&] { open_sentencepiece(folder.path()); }), HasSubstr("no regular file"));
  EXPECT_THAT(message_of<Error>([&] { open_sentencepiece(folder.write("empty", "")); }), HasSubstr("got 0"));
  EXPECT_THAT(message_of<Error>([&] { open_sentencepiece(folder.write("text", "{\"model\": \"bpe\"}")); }),
              HasSubstr("expected a sentencepiece model"));
}

TEST(OpenSentencePiece, AnyTruncatedModelIsRefusedOrWorks) {
  const TempFolder folder;
  const std::string whole = read(kModel);
  int refused = 0, opened = 0;
  for (std::size_t length = 1; length < whole.size(); length += 487) {  // a cut between two fields leaves a valid, smaller model
    const std::string path = folder.write("cut", whole.substr(0, length));
    try {
      const auto tokenizer = open_sentencepiece(path);
      for (const int id : tokenizer->encode("Some text 123")) tokenizer->bytes_of(id);
      ++opened;
    } catch (const Error&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 10 * opened);
}

TEST(IdsOnly, ShowsIdsAndSaysThatTextNeedsATokenizer) {
  const auto tokenizer = ids_only_tokenizer(64);
  EXPECT_EQ(tokenizer->vocab_size(), 64);
  EXPECT_EQ(tokenizer->piece(17), "⟨17⟩");
  EXPECT_EQ(tokenizer->decode({1, 17}), "⟨1⟩⟨17⟩");
  EXPECT_FALSE(tokenizer->is_special(1));
  EXPECT_THAT(message_of<Error>([&] { tokenizer->encode("text"); }), HasSubstr("no tokenizer.model or tokenizer.json"));
}

}  // namespace
}  // namespace kvscope
