// SPDX-License-Identifier: Apache-2.0
#include "arch/gguf_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

#include "io/quote_name.h"

namespace kvscope {
namespace {

// The expressions are those of the models' own tokenizer.json; the names are llama.cpp's (convert_hf_to_gguf_update.py).
constexpr const char* kThreeDigits =
    R"re((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)re";
constexpr const char* kOneDigit =
    R"re((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)re";
constexpr const char* kOneDigitWithMarks =
    R"re((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)re";
constexpr const char* kCases =
    R"re([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)re";
constexpr const char* kCasesAndEndings =
    R"re([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)re";
constexpr const char* kLineEnd = "[\r\n]";
// Letters with a case, as the model's file lists them.
constexpr const char* kCasedLetters =
    R"re(\s?[A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ-ΊΌΎ-ΡΣ-ϵϷ-ҁҊ-ԯԱ-ՖႠ-ჅᎠ-Ᏽᏸ-ᏽᲐ-ᲺᲽ-Ჿᴀ-ᴫᵫ-ᵷᵹ-ᶚḀ-ἕἘ-Ἕἠ-ὅὈ-Ὅὐ-ὗὙὛὝὟ-ώᾀ-ᾴᾶ-ᾼιῂ-ῄῆ-ῌῐ-ΐῖ-Ίῠ-Ῥῲ-ῴῶ-ῼℂℇℊ-ℓℕℙ-ℝℤΩℨK-ℭℯ-ℴℹℼ-ℿⅅ-ⅉⅎↃↄⰀ-ⱻⱾ-ⳤⳫ-ⳮⳲⳳꙀ-ꙭꚀ-ꚛꜢ-ꝯꝱ-ꞇꞋ-ꞎꭰ-ꮿﬀ-ﬆﬓ-ﬗＡ-Ｚａ-ｚ𐐀-𐑏𐒰-𐓓𐓘-𐓻𐲀-𐲲𐳀-𐳲𑢠-𑣟𞤀-𞥃]+)re";
constexpr const char* kSigns = R"re(\s?[!-/:-~！-／：-～‘-‟　-。]+)re";
constexpr const char* kEastAsian = R"re([一-龥ࠀ-一가-퟿]+)re";

PreTokenizer split(const char* expression) { return SplitBy{{expression, true}, SplitBehavior::isolated, false}; }

constexpr ByteLevel kBytes{.add_prefix_space = false, .use_regex = false}, kWordsAndBytes{.add_prefix_space = false, .use_regex = true};

struct Named {
  std::string_view name;
  WordRule (*rule)();
};

WordRule plain_words() { return {.steps = {kWordsAndBytes}}; }
WordRule normal_words() { return {.steps = {kWordsAndBytes}, .nfc = true}; }
WordRule single_digits() { return {.steps = {SplitDigits{true}, kWordsAndBytes}}; }
WordRule normal_single_digits() { return {.steps = {SplitDigits{true}, kWordsAndBytes}, .nfc = true}; }
WordRule three_digits() { return {.steps = {split(kThreeDigits), kBytes}}; }
WordRule three_digits_whole_words() { return {.steps = {split(kThreeDigits), kBytes}, .ignore_merges = true, .begins_with_bos = true}; }
WordRule one_digit() { return {.steps = {split(kOneDigit), kBytes}, .nfc = true}; }
WordRule one_digit_with_marks() { return {.steps = {split(kOneDigitWithMarks), kBytes}, .nfc = true}; }
WordRule cases() { return {.steps = {split(kCases), kBytes}, .ignore_merges = true, .begins_with_bos = true}; }
WordRule cases_and_endings() { return {.steps = {split(kCasesAndEndings), kBytes}}; }
WordRule signs_then_words() {
  return {.steps = {SplitPunctuation{SplitBehavior::contiguous}, kWordsAndBytes, SplitDigits{false}, split("[0-9][0-9][0-9]")}};
}
WordRule cased_letters() {
  return {.steps = {split(kLineEnd), split(kCasedLetters), split(kSigns), split(R"(\s+$)"), split(kEastAsian), SplitDigits{true}, kBytes}};
}
WordRule letters_and_signs() {
  return {.steps = {split(kLineEnd), split(R"(\s?\p{L}+)"), split(R"(\s?\p{P}+)"), split(kEastAsian), SplitDigits{true}, kBytes}};
}

constexpr std::array kRules = {
    Named{"gpt-2", plain_words},
    Named{"phi-2", plain_words},
    Named{"mpt", normal_words},
    Named{"olmo", normal_words},
    Named{"starcoder", single_digits},
    Named{"refact", single_digits},
    Named{"smollm", single_digits},
    Named{"codeshell", single_digits},
    Named{"command-r", normal_single_digits},
    Named{"llama-bpe", three_digits_whole_words},
    Named{"llama3", three_digits_whole_words},
    Named{"llama-v3", three_digits_whole_words},
    Named{"falcon3", three_digits_whole_words},
    Named{"dbrx", three_digits},
    Named{"smaug-bpe", three_digits},
    Named{"qwen2", one_digit},
    Named{"deepseek-r1-qwen", one_digit},
    Named{"qwen35", one_digit_with_marks},
    Named{"tekken", cases},
    Named{"gpt-4o", cases_and_endings},
    Named{"falcon", signs_then_words},
    Named{"deepseek-llm", cased_letters},
    Named{"deepseek-coder", letters_and_signs},
};

}  // namespace

WordRule word_rule_of(const GgufFile& file, std::string_view name) {
  const auto found = std::ranges::find(kRules, name, &Named::name);
  if (found != kRules.end()) return found->rule();
  std::string known;
  for (const Named& rule : kRules) known += fmt::format("{}{}", known.empty() ? "" : ", ", rule.name);
  file.fail("tokenizer.ggml.pre", fmt::format("unknown way to make words {} (known: {})", quote_name(name), known));
}

}  // namespace kvscope
