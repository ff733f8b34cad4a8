// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "io/files.h"
#include "io/temp_folder.h"
#include "paths.h"
#include "shared_files.h"
#include "tokenizer/cases.h"
#include "tokenizer/chat_template.h"
#include "tokenizer/regex.h"
#include "tokenizer/tokenizer.h"

namespace kvscope {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using test::message_of;
using test::TempFolder;
using testing::HasSubstr;

constexpr const char* kOwn[] = {"byte_words", "byte_digits", "fallback", "marks"};

std::string own(const std::string& name) { return in_checkout("tests/tokenizer/data/" + name); }

TEST(TokenizerJson, EncodesAndDecodesAsTheReferenceDoes) {
  for (const char* name : kOwn) {
    SCOPED_TRACE(name);
    test::expect_cases(*open_tokenizer_json(own(name + std::string(".json"))), own(name + std::string(".cases.json")));
  }
}

TEST(TokenizerJson, EncodesAndDecodesRealVocabularies) {
  if (!fs::exists(test::shared_file("tokenizers"))) GTEST_SKIP() << "no vocabularies; set KVSCOPE_SHARED to the folder above tokenizers/";
  int n = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(test::shared_file("tokenizers"))) {
    const fs::path archive = entry.path() / (entry.path().filename().string() + ".tar.xz");
    if (!fs::exists(archive)) continue;
    SCOPED_TRACE(archive.string());
    const TempFolder folder;
    ASSERT_TRUE(test::unpack(archive, folder));
    test::expect_cases(*open_tokenizer_json(folder / "tokenizer.json"), folder / "cases.json");
    ++n;
  }
  EXPECT_GT(n, 0);
}

TEST(TokenizerJson, TheStartTokenIsThePostProcessors) {
  EXPECT_EQ(open_tokenizer_json(own("byte_words.json"))->first_id(), 0);
  EXPECT_EQ(open_tokenizer_json(own("fallback.json"))->first_id(), 1);
  EXPECT_EQ(open_tokenizer_json(own("marks.json"))->first_id(), -1);
}

TEST(TokenizerJson, SpecialTokensAreNoPartOfTheText) {
  const auto tokenizer = open_tokenizer_json(own("byte_words.json"));
  EXPECT_TRUE(tokenizer->is_special(1));
  EXPECT_EQ(tokenizer->piece(1), "<|end|>");
  EXPECT_EQ(tokenizer->bytes_of(1), "");
  EXPECT_EQ(tokenizer->decode({1, tokenizer->encode("a").front()}), "a");
  for (const int id : tokenizer->encode("<|end|>")) EXPECT_FALSE(tokenizer->is_special(id));
  EXPECT_EQ(tokenizer->encode("<|end|>", SpecialNames::tokens), std::vector<int>{1});
}

TEST(TokenizerJson, OfAddedTokensThatBeginAlikeTheLongestIsFound) {
  json document = json::parse(read_text(own("byte_words.json")));
  for (const char* name : {"<b>", "<b", "<bold>", "<b>!?", "<b>"})
    document["added_tokens"].push_back({{"id", 300 + document["added_tokens"].size()}, {"content", name}, {"normalized", false}});
  const auto tokenizer = parse_tokenizer_json(document.dump(), "t");
  std::vector<std::string> found;
  for (const int id : tokenizer->encode("<b><bold><b>!<b>!?<bol<"))
    if (id >= 300) found.push_back(tokenizer->piece(id));
  EXPECT_THAT(found, testing::ElementsAre("<b>", "<bold>", "<b>", "<b>!?", "<b"));
}

TEST(TokenizerJson, RangesAreThoseOfTheTextBeforeItWasChanged) {
  const auto tokenizer = open_tokenizer_json(own("fallback.json"));
  const std::string text = "a \xff\xf0\x9f\x99\x82 b";  // a byte that is no text, a character of four byte pieces
  std::string joined;
  for (const TextToken& token : tokenizer->tokens_of(text)) joined += text.substr(token.begin, token.end - token.begin);
  EXPECT_EQ(joined, text);
  const auto nfc = open_tokenizer_json(own("byte_digits.json"));
  const std::string decomposed = "xe\xcc\x81y";
  const std::vector<TextToken> tokens = nfc->tokens_of(decomposed);
  EXPECT_EQ(tokens.front().begin, 0u);
  EXPECT_EQ(tokens.back().end, decomposed.size());
  EXPECT_EQ(nfc->encode(decomposed), nfc->encode("x\xc3\xa9y"));
}

/// The file with one part changed.
std::string error_with(const std::string& pointer, const json& value) {
  json document = json::parse(read_text(own("byte_words.json")));
  document[json::json_pointer(pointer)] = value;
  return message_of<Error>([&] { parse_tokenizer_json(document.dump(), "tokenizer.json"); });
}

TEST(TokenizerJson, RefusesWhatItDoesNotKnowByItsName) {
  EXPECT_THAT(error_with("/model/type", "Unigram"), HasSubstr("tokenizer.json.model: 'Unigram' is not supported (known: BPE)"));
  EXPECT_THAT(error_with("/normalizer", {{"type", "Lowercase"}}), HasSubstr("normalizer: 'Lowercase' is not supported"));
  EXPECT_THAT(error_with("/pre_tokenizer", {{"type", "BertPreTokenizer"}}),
              HasSubstr("pre_tokenizer: 'BertPreTokenizer' is not supported"));
  EXPECT_THAT(error_with("/post_processor", {{"type", "RobertaProcessing"}}),
              HasSubstr("post_processor: 'RobertaProcessing' is not supported"));
  EXPECT_THAT(error_with("/decoder", {{"type", "WordPiece"}}), HasSubstr("decoder: 'WordPiece' is not supported"));
  EXPECT_THAT(error_with("/decoder", nullptr), HasSubstr("expected a decoder, got none"));
  EXPECT_THAT(error_with("/model/dropout", 0.1), HasSubstr("dropout is not supported"));
  EXPECT_THAT(error_with("/model/end_of_word_suffix", "</w>"), HasSubstr("end_of_word_suffix is not supported"));
  const auto split = [](const char* regex) { return json{{"type", "Split"}, {"pattern", {{"Regex", regex}}}, {"behavior", "Isolated"}}; };
  EXPECT_THAT(error_with("/pre_tokenizer", split("[a-z&&[^b]]")), HasSubstr("intersections of sets"));
  for (const char* other : {R"(\b)", "[[:punct:]]", "[[:^word:]]", R"([\W])"})  // PCRE2 has other characters in them
    EXPECT_THAT(error_with("/pre_tokenizer", split(other)), HasSubstr("is not supported"));
  EXPECT_THAT(error_with("/pre_tokenizer", split("(a")), HasSubstr("missing closing parenthesis"));
}

TEST(TokenizerJson, WordsOfAPatternHaveMarks) {
  const std::string text = "\xe0\xa4\xb9\xe0\xa4\xbf\xe0\xa4\xa8_2\xc2\xbd +";  // two letters, a vowel sign; a connector, a digit, a half
  for (const char* pattern : {R"(\w+)", R"([\w]+)", R"([[:alpha:]\x{bd}\p{M}\p{Pc}\d]+)"}) {
    const std::optional<Span> found = Regex(pattern, "t").find(text, 0);
    ASSERT_TRUE(found) << pattern;
    EXPECT_EQ(found->end, text.size() - 2) << pattern;
  }
  EXPECT_EQ(Regex(R"(\W)", "t").find(text, 0)->begin, text.size() - 2);
}

// Where the library of the files (tokenizers 0.23) finds the pattern first.
/// What the tokenizers library splits off eleven letters a and a b.
TEST(TokenizerJson, ARepetitionIsRepeatedAsInItsLibrary) {
  struct Case {
    const char* pattern;
    std::size_t end;
  };
  const Case cases[] = {{R"(a{2}{3})", 6},   {R"(a+{2})", 11},      {R"(a{2,3}{2})", 6},   {R"(a*{2})", 11},     {R"(a?{2})", 2},
                        {R"(a{2}*)", 10},    {R"(a+*)", 11},        {R"(a?*)", 11},        {R"(a**)", 11},       {R"(a+++)", 11},
                        {R"(a?+{2})", 2},    {R"(a{2}{3}?)", 6},    {R"(a{2}?{3})", 6},    {R"(a+?{2})", 2},     {R"(a{0,2}{2})", 4},
                        {R"(a{,2}{2})", 4},  {R"(a{2,}{2})", 11},   {R"(a+{2}+)", 11},     {R"(a+{2}?)", 11},    {R"(a{2}{,1})", 2},
                        {R"((a){2}{3})", 6}, {R"([a]{2}{3})", 6},   {R"(a*+{2})", 11},     {R"(a{2,3}?{2})", 4}, {R"(a++)", 11},
                        {R"(a+?)", 1},       {R"((?:a{2}){3})", 6}, {R"(\x{61}{2}{3})", 6}};
  for (const Case& c : cases) {
    const std::optional<Span> found = Regex(c.pattern, "t").find("aaaaaaaaaaab", 0);
    ASSERT_TRUE(found) << c.pattern;
    EXPECT_EQ(std::pair(found->begin, found->end), std::pair(std::size_t(0), c.end)) << c.pattern;
  }
}

TEST(TokenizerJson, RepetitionsOfAPatternAreThoseOfItsLibrary) {
  struct Case {
    const char *pattern, *text;
    std::size_t begin, end;
  };
  const Case cases[] = {{"a{,2}", "aaab", 0, 2},
                        {"a{,2}+", "aaab", 0, 3},
                        {"a{1,2}+", "aaab", 0, 3},
                        {"a{2}+", "aaaab", 0, 4},
                        {"a{2}?", "aab", 0, 2},
                        {"a{2}?", "ab", 0, 0},
                        {"a{1,2}?", "aab", 0, 1},
                        {"a{2,}+", "aaab", 0, 3},
                        {"a{,}", "aa{,}", 1, 5},
                        {"a{x}", "aa{x}", 1, 5},
                        {"a{ ,2}", "aa{ ,2}", 1, 7},
                        {R"(\p{N}{1,3}+)", "1234567x", 0, 7},
                        {"(?:ab){1,2}+", "abababc", 0, 6},
                        {"[ab]{1,2}+", "ababac", 0, 5},
                        {"\xc3\xa9{1,2}+",
                         "\xc3\xa9\xc3\xa9\xc3\xa9"
                         "a",
                         0, 6},
                        {R"(\x{61}{,2}b)", "aab", 0, 3},
                        {"(a|b){,1}c", "bbc", 1, 3},
                        {"x[{,2}]", "x,", 0, 2},
                        {R"(\p{L}{,2}+\p{N})", "ab1", 0, 3},
                        {"(?i:a{,2}+b)", "AAAb", 0, 4},
                        {"[^a]{2}+", "bcdea", 0, 4},
                        {"((a){1}+b){2}", "abaab", 0, 5},
                        {"a{2}??b", "aab", 0, 3},
                        {"(?=a{,1}b)a", "ab", 0, 1}};
  for (const Case& c : cases) {
    const std::optional<Span> found = Regex(c.pattern, "t").find(c.text, 0);
    ASSERT_TRUE(found) << c.pattern;
    EXPECT_EQ(std::pair(found->begin, found->end), std::pair(c.begin, c.end)) << c.pattern << " in " << c.text;
  }
  for (const char* refused : {"{,2}", "a{3,1}"})  // the second means something there that PCRE2 has not
    EXPECT_THAT(message_of<Error>([&] { Regex(refused, "t"); }), HasSubstr(std::string("regular expression '") + refused + "'"));
}

/// A small tokenizer of characters: a 0, b 1, c 2, a space 3, ab 4, x 5.
json small_document(const json& added = json::array()) {
  return {{"added_tokens", added},
          {"decoder", {{"type", "Fuse"}}},
          {"model", {{"type", "BPE"}, {"vocab", {{"a", 0}, {"b", 1}, {"c", 2}, {" ", 3}, {"ab", 4}, {"x", 5}}}, {"merges", {"a b"}}}}};
}

json added_token(const std::string& content, const json& flags = json::object(), int id = 6) {
  json token = {{"id", id}, {"content", content}, {"normalized", false}};
  if (flags.is_object()) token.update(flags);
  return token;
}

std::vector<int> ids_with(const json& added, const std::string& text) {
  return parse_tokenizer_json(small_document(added).dump(), "t")->encode(text, SpecialNames::tokens);
}

// Values of tokenizers 0.23.
TEST(TokenizerJson, WhiteSpaceThatAnAddedTokenTakesMayHoldOthers) {
  using Ids = std::vector<int>;
  const json strips = {{"rstrip", true}}, left = {{"lstrip", true}};
  const json spaces = {added_token("<r>", strips), added_token("  "), added_token("<l>", left), added_token("\n")};
  EXPECT_EQ(ids_with(spaces, "a<r>  b"), (Ids{0, 6, 7, 1}));
  EXPECT_EQ(ids_with(spaces, "a<r>   <l>b"), (Ids{0, 6, 7, 8, 1}));
  EXPECT_EQ(ids_with(spaces, "a   <l>"), (Ids{0, 7, 8}));
  EXPECT_EQ(ids_with(spaces, "<r>\n  b"), (Ids{6, 9, 7, 1}));
  EXPECT_EQ(ids_with(spaces, "<r>  <r>"), (Ids{6, 7, 6}));
  const json line = {added_token("<r>", strips), added_token("\n")};
  EXPECT_EQ(ids_with(line, "<r>  \n   b"), (Ids{6, 7, 3, 3, 3, 1})) << "what the first took behind the second is text again";
  EXPECT_EQ(ids_with(line, "<r> \n <r> \n a"), (Ids{6, 7, 3, 6, 7, 3, 0}));
  EXPECT_EQ(ids_with({added_token("<r>", strips), added_token("\n", strips)}, "<r>\n\n b"), (Ids{6, 7, 7, 1}));
  EXPECT_EQ(ids_with({added_token("<r>", strips), added_token(" x")}, "<r>  x b"), (Ids{6, 7, 3, 1}));
  EXPECT_EQ(ids_with({added_token("<r>", strips), added_token("\n", left)}, "<r> \n b").front(), 6) << "the library ends itself here";
  // Each byte of a text still belongs to one token.
  const auto tokenizer = parse_tokenizer_json(small_document(spaces).dump(), "t");
  std::size_t at = 0;
  for (const TextToken& token : tokenizer->tokens_of("a<r>\n  b<r>   <l>", SpecialNames::tokens)) {
    EXPECT_EQ(token.begin, at);
    at = token.end;
  }
  EXPECT_EQ(at, 17u);
}

TEST(TokenizerJson, AddedTokensHaveTheIdsThatTheLibraryGives) {
  using Ids = std::vector<int>;
  const json other_numbers = {added_token("<y>", {}, 9), added_token("<z>", {}, 3), added_token("<w>", {}, 40), added_token("a", {}, 7)};
  EXPECT_EQ(ids_with(other_numbers, "a<y><z><w>"), (Ids{0, 6, 7, 8})) << "the vocabulary's, or the next";
  EXPECT_EQ(ids_with({added_token("<y>", {}, 6), added_token("<z>", {}, 6)}, "<y><z>"), (Ids{6, 7}));
  EXPECT_EQ(ids_with({added_token("<y>", {}, 6), added_token("<y>", {{"lstrip", true}}, 7)}, "a <y>"), (Ids{0, 6}))
      << "the last of one name holds";
  json document = small_document({added_token("<y>"), added_token("<z>")});
  document["model"]["vocab"]["c"] = 60;
  EXPECT_EQ(parse_tokenizer_json(document.dump(), "t")->encode("<y><z>c", SpecialNames::tokens), (Ids{6, 7, 60}));
}

TEST(TokenizerJson, TwoTokensOfOneIdAreRefused) {
  json document = small_document();
  document["model"]["vocab"]["c"] = 1;
  EXPECT_THAT(message_of<Error>([&] { parse_tokenizer_json(document.dump(), "t"); }),
              HasSubstr("t.model.vocab: expected an id of its own for each token, got 1 for 'b' and 'c'"));
  document["model"]["vocab"]["c"] = 6;
  document["added_tokens"] = {added_token("<y>")};
  EXPECT_THAT(message_of<Error>([&] { parse_tokenizer_json(document.dump(), "t"); }),
              HasSubstr("t: added_tokens: expected an id of its own for each token, got 6 for 'c' and '<y>'"));
  // A name that is given twice has its last id, as in any JSON.
  std::string twice = small_document().dump();
  twice.replace(twice.find("\"x\":5"), 5, "\"a\":5");
  EXPECT_EQ(parse_tokenizer_json(twice, "t")->encode("cac"), (std::vector<int>{2, 5, 2}));
}

// Values of tokenizers 0.23, which leaves such bytes out where there is no unknown token.
TEST(TokenizerJson, BytesWithoutATokenGoTheWayOfTheLibrary) {
  using Ids = std::vector<int>;
  json document = small_document();
  document["pre_tokenizer"] = {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", false}};
  document["decoder"] = {{"type", "ByteLevel"}};
  document["model"]["vocab"] = {{"a", 0}, {"b", 1}, {"ab", 2}, {"<unk>", 3}, {"\u00c3", 4}};
  const auto ids = [&](const char* text) { return parse_tokenizer_json(document.dump(), "t")->encode(text); };
  EXPECT_EQ(ids("azb"), Ids{2});
  EXPECT_EQ(ids("zz"), Ids());
  EXPECT_EQ(ids("\xc3\xa9"), Ids{4});
  document["model"]["unk_token"] = "<unk>";
  EXPECT_EQ(ids("azb"), (Ids{0, 3, 1}));
  EXPECT_EQ(ids("zz"), (Ids{3, 3}));
  EXPECT_EQ(ids("\xc3\xa9"), (Ids{4, 3}));
  document["model"]["fuse_unk"] = true;
  EXPECT_EQ(ids("zz"), Ids{3});
}

TEST(TokenizerJson, RefusesDamage) {
  EXPECT_THAT(error_with("/model/merges/0", "onlyone"), HasSubstr("expected two names with a space between them"));
  EXPECT_THAT(error_with("/model/merges/0", json{"a", "nosuch"}), HasSubstr("is no token of the vocabulary"));
  EXPECT_THAT(error_with("/model/vocab/a", -5), HasSubstr("token 'a': expected an id below"));
  EXPECT_THAT(error_with("/model/vocab/a", 1 << 30), HasSubstr("token 'a': expected an id below"));
  EXPECT_THAT(error_with("/model/vocab", json::array()), HasSubstr("expected vocab"));
  EXPECT_THAT(error_with("/added_tokens/0/id", 1 << 20), HasSubstr("expected a whole number"));
  EXPECT_THAT(error_with("/added_tokens/0/content", 7), HasSubstr("expected a text"));
  const std::string whole = read_text(own("byte_words.json"));
  EXPECT_THAT(message_of<Error>([&] { parse_tokenizer_json(whole.substr(0, 3000), "t"); }), HasSubstr("it is cut short or damaged"));
  EXPECT_THAT(message_of<Error>([&] { parse_tokenizer_json("[]", "t"); }), HasSubstr("expected a JSON object"));
  EXPECT_THAT(message_of<Error>([&] { parse_tokenizer_json(std::string(100, '['), "t"); }), HasSubstr("nested deeper"));
  std::string values = "{\"x\":[";
  for (int i = 0; i < (1 << 21) + 8; ++i) values += "[],";
  EXPECT_THAT(message_of<Error>([&] { parse_tokenizer_json(values + "0]}", "t"); }), HasSubstr("expected at most 2097152 values"));
}

TEST(TokenizerJson, APatternThatNeverEndsIsAnError) {
  json document = json::parse(read_text(own("byte_words.json")));
  document["pre_tokenizer"] = {{"type", "Split"}, {"pattern", {{"Regex", "(?:a|aa|aaa)+[bc]"}}}, {"behavior", "Isolated"}};
  const auto tokenizer = parse_tokenizer_json(document.dump(), "t");
  EXPECT_THAT(message_of<Error>([&] { tokenizer->encode(std::string(200, 'a')); }), HasSubstr("needs too many steps"));
}

TEST(TokenizerJson, StepsThatMakeTooMuchOfATextAreAnError) {
  json document = json::parse(read_text(own("byte_words.json")));
  const json tenfold = {{"type", "Replace"}, {"pattern", {{"String", "a"}}}, {"content", std::string(10, 'a')}};
  const auto encoded = [&](int times, const std::string& text) {
    document["normalizer"] = {{"type", "Sequence"}, {"normalizers", json(times, tenfold)}};
    document["added_tokens"] = json::array();
    return parse_tokenizer_json(document.dump(), "t")->encode(text);
  };
  EXPECT_FALSE(encoded(2, "a b").empty());
  for (const int times : {5, 12})  // 100 kB, 1 TB
    EXPECT_THAT(message_of<Error>([&] { encoded(times, "a b"); }), HasSubstr("normalizer: expected steps that make at most")) << times;
  document["normalizer"] = {{"type", "Replace"}, {"pattern", {{"String", "a"}}}, {"content", std::string(1 << 20, 'b')}};
  EXPECT_THAT(message_of<Error>([&] { parse_tokenizer_json(document.dump(), "t")->encode(std::string(100000, 'a')); }),
              HasSubstr("got more"));
}

TEST(ChatTemplate, WritesConversations) {
  const ChatTemplate chat(
      "{{ bos_token }}{% for m in messages %}{% if m['role'] not in ['user', 'system'] %}{{ raise_exception('no ' + m['role']) }}{% endif %}"
      "<|{{ m['role'] }}|>{{ m['content'] | trim }}<|end|>\n{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}",
      "t", "<s>", "</s>");
  EXPECT_EQ(chat.render({{"system", "Be short. "}, {"user", " Hi"}}, true),
            "<s><|system|>Be short.<|end|>\n<|user|>Hi<|end|>\n<|assistant|>");
  EXPECT_THAT(message_of<Error>([&] { chat.render({{"tool", "x"}}, false); }), HasSubstr("no tool"));
  EXPECT_THAT(message_of<Error>([] { ChatTemplate("{% for %}", "t", "", ""); }), HasSubstr("t: expected a Jinja template"));
}

// A model's folder is no more trusted than any file: what its template does stays in a process of its own.
TEST(ChatTemplate, StaysWithinWhatATemplateMayTake) {
  const auto refusal_of = [](const std::string& source) {
    return message_of<Error>([&] { ChatTemplate(source, "t", "", "").render({{"user", "Hi"}}, true); });
  };
  const std::string doubled =
      "{% set ns = namespace(x='aaaaaaaaaaaaaaaa') %}{% for i in range(40) %}{% set ns.x = ns.x + ns.x %}{% endfor %}{{ ns.x }}";
  const std::string ranges = "{% for i in range(1000000000) %}{% for j in range(1000000000) %}x{% endfor %}{% endfor %}";
  const std::string calls_itself = "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}";
  for (const std::string& source : {doubled, ranges, calls_itself, std::string("{{ 'x' * 100000000000 }}")})
    EXPECT_THAT(refusal_of(source), HasSubstr("t: the chat template cannot write this conversation: it ")) << source;
  EXPECT_THAT(refusal_of("{% for i in range(30000) %}{% for j in range(30000) %}{% endfor %}{% endfor %}"), HasSubstr("of processor time"));
  EXPECT_THAT(refusal_of("{{ 1 % 0 }}"), HasSubstr("t: the chat template refuses this conversation: division by zero"));
  EXPECT_THAT(message_of<Error>([] { ChatTemplate("{{ " + std::string(60000, '('), "t", "", ""); }),
              HasSubstr("t: expected a Jinja template"));
  EXPECT_EQ(ChatTemplate("{{ messages[0].content }}", "t", "", "").render({{"user", std::string(1 << 20, 'a')}}, true).size(), 1u << 20);
}

TEST(ChatTemplate, FindsThePersonsWordsInWhatItWrote) {
  const std::string turns = "{% for m in messages %}<|{{ m['role'] }}|>{{ m['content'] }}<|end|>{% endfor %}<|assistant|>";
  const ChatTemplate plain("<s>" + turns, "t", "", "");
  // Says something in the system's place by itself, as some do.
  const ChatTemplate speaks("{% if messages[0]['role'] != 'system' %}<|system|>Be kind.<|end|>{% endif %}" + turns, "t", "", "");
  const ChatTemplate refuses("{% if messages[0]['role'] == 'system' %}{{ raise_exception('no system') }}{% endif %}" + turns, "t", "", "");
  for (const ChatTemplate* chat : {&plain, &speaks, &refuses})
    for (const char* user : {"Hi", "", "two\nlines", "<|end|>", "words of the user"})
      for (const char* system : {"", "Be short.", "<|user|>"}) {
        const ChatWords words{*system ? std::optional<std::string>(system) : std::nullopt, user};
        if (chat == &refuses && words.system) continue;
        const std::optional<ChatWords> found = chat_words_of(*chat, chat_text(*chat, words));
        ASSERT_TRUE(found) << chat_text(*chat, words);
        if (words.system == "<|user|>") continue;  // a name where words should be: where they end is not to be told
        EXPECT_EQ(found->user, words.user) << chat_text(*chat, words);
        EXPECT_EQ(found->system, words.system) << chat_text(*chat, words);
      }
  EXPECT_EQ(chat_opening(plain), "<s><|");
  EXPECT_EQ(chat_opening(speaks), "<|system|>");
  EXPECT_EQ(chat_opening(refuses), "<|user|>");
  EXPECT_FALSE(chat_words_of(plain, "Hi"));
  EXPECT_FALSE(chat_words_of(plain, "<s><|user|>Hi"));
  EXPECT_FALSE(chat_words_of(ChatTemplate("nothing of it", "t", "", ""), "nothing of it"));
}

std::string name_of(const json& token) { return token.is_string() ? token.get<std::string>() : ""; }  // null: the model has none

TEST(ChatTemplate, FindsThePersonsWordsWithArguments) {
  const ChatTemplate chat("{% if mode == 1 %}one{% endif %}:{{ messages[-1].content }}{% if mode == 1 %}!{% endif %}", "t", "", "");
  const std::string text = chat_text(chat, {std::nullopt, "Hi"}, R"({"mode": 1})");
  EXPECT_EQ(text, "one:Hi!");
  EXPECT_EQ(typed_in(chat, text, R"({"mode": 1})"), (std::vector<TextRange>{{4, 6}}));
  EXPECT_EQ(typed_in(chat, text), std::vector<TextRange>());
}

TEST(TokenizerJson, NamesInATypedPartAreText) {
  const auto tokenizer =
      parse_tokenizer_json(small_document({added_token("<y>", {{"special", true}}), added_token("ab", {}, 7)}).dump(), "t");
  const auto ids = [&](std::vector<TextRange> typed) { return ids_of(tokenizer->tokens_of("<y>ab<y>", SpecialNames::tokens, typed)); };
  EXPECT_EQ(ids({}), (std::vector<int>{6, 4, 6}));
  EXPECT_EQ(ids({{5, 8}}), (std::vector<int>{6, 4})) << "its letters have no tokens here";
  EXPECT_EQ(ids({{2, 6}}), (std::vector<int>{4})) << "a name that reaches into it";
  EXPECT_EQ(ids({{3, 5}}), (std::vector<int>{6, 4, 6}));
}

TEST(ChatTemplate, WritesTheConversationsOfPublishedModels) {
  if (!fs::exists(test::shared_file("tokenizers/chat_templates")))
    GTEST_SKIP() << "no chat templates; set KVSCOPE_SHARED to the folder above tokenizers/";
  int n = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(test::shared_file("tokenizers/chat_templates"))) {
    if (entry.path().extension() != ".json") continue;
    const json file = json::parse(read_text(entry.path().string()));
    const ChatTemplate chat(read_text((entry.path().parent_path() / file["template"].get<std::string>()).string()), "template",
                            name_of(file["bos_token"]), name_of(file["eos_token"]));
    for (const json& c : file["conversations"]) {
      SCOPED_TRACE(entry.path().filename().string() + ": " + c["name"].get<std::string>());
      std::vector<ChatMessage> messages;
      for (const json& m : c["messages"]) messages.push_back({m["role"], m["content"]});
      const auto render = [&] { return chat.render(messages, c["add_generation_prompt"], c.value("kwargs", json::object()).dump()); };
      if (c.contains("error")) {
        EXPECT_THROW(render(), Error);
      } else {
        EXPECT_EQ(render(), c["expected"].get<std::string>());
      }
      ++n;
    }
  }
  EXPECT_GT(n, 0);
}

}  // namespace
}  // namespace kvscope
