// SPDX-License-Identifier: Apache-2.0
#include "arch/gguf_tokenizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <unordered_map>

#include "arch/gguf_architecture.h"
#include "arch/gguf_words.h"
#include "io/quote_name.h"
#include "tokenizer/parts.h"

namespace kvscope {
namespace {

constexpr const char* kTokens = "tokenizer.ggml.tokens";
constexpr const char* kKinds = "tokenizer.ggml.token_type";
constexpr const char* kScores = "tokenizer.ggml.scores";
constexpr const char* kMerges = "tokenizer.ggml.merges";
constexpr std::string_view kSpaceMark = "\xe2\x96\x81";  // U+2581
constexpr std::size_t kMaxTokens = 1 << 20, kMaxNameBytes = 4096;
constexpr std::int64_t kControl = 3, kOwn = 4;  // of token_type

using Ids = std::unordered_map<std::string_view, int>;

void read_tokens(const GgufFile& file, TokenizerParts& out) {
  const GgufValue& names = *file.texts(kTokens);
  if (names.size() == 0 || names.size() > kMaxTokens)
    file.fail(kTokens, fmt::format("expected 1 to {} tokens, got {}", kMaxTokens, names.size()));
  for (std::size_t id = 0; id < names.size(); ++id) {
    if (names.text(id).size() > kMaxNameBytes)
      file.fail(kTokens, fmt::format("token {}: expected at most {} bytes, got {}", id, kMaxNameBytes, names.text(id).size()));
    const bool padding = names.text(id) == fmt::format("[PAD{}]", id);  // an id that the tokenizer does not have
    out.tokens.emplace_back(padding ? std::string_view() : names.text(id));
  }
}

/// The id under a key, -1: none.
int id_of(const GgufFile& file, const char* key, const TokenizerParts& parts, std::int64_t otherwise) {
  const std::int64_t id = file.whole_or(key, otherwise);
  if (id < -1 || id >= static_cast<std::int64_t>(parts.tokens.size()))
    file.fail(key, fmt::format("expected the id of one of {} tokens, got {}", parts.tokens.size(), id));
  return static_cast<int>(id);
}

/// Control tokens and those that the model's makers have added are found by their names.
void add_named_tokens(const GgufFile& file, TokenizerParts& out) {
  const GgufValue* kinds = file.wholes(kKinds);
  if (!kinds) return;
  if (kinds->size() != out.tokens.size())
    file.fail(kKinds, fmt::format("expected a kind for each of {} tokens, got {}", out.tokens.size(), kinds->size()));
  const GgufArchitecture* architecture = known_gguf_architecture(file);
  const bool strips = architecture && architecture->special_tokens_take_space && !file.find(kMerges);
  for (std::size_t id = 0; id < out.tokens.size(); ++id) {
    const std::int64_t kind = kinds->whole(id);
    const bool special = kind == kControl || static_cast<int>(id) == out.unknown;
    const std::string& name = out.tokens[id];
    if (name.empty() || (!special && kind != kOwn)) continue;
    const bool keeps_space = name == "<unk>" || name == "<s>" || name == "<|endoftext|>";
    out.added.push_back({.id = static_cast<int>(id), .content = name, .rstrip = strips && !keeps_space, .special = special});
  }
}

Ids ids_of(const TokenizerParts& parts) {
  Ids ids(parts.tokens.size() * 2);
  for (std::size_t id = 0; id < parts.tokens.size(); ++id)
    if (!parts.tokens[id].empty()) ids.try_emplace(parts.tokens[id], static_cast<int>(id));
  return ids;
}

void read_merges(const GgufFile& file, TokenizerParts& out) {
  const GgufValue* merges = file.texts(kMerges);
  if (!merges) file.fail(kMerges, "is missing, expected a list of texts");
  const Ids ids = ids_of(out);
  const auto id = [&](std::string_view name) {
    const auto found = ids.find(name);
    if (found == ids.end()) file.fail(kMerges, fmt::format("{} is no token of the vocabulary", quote_name(name)));
    return found->second;
  };
  out.merges.reserve(merges->size());
  std::string whole;
  for (std::size_t i = 0; i < merges->size(); ++i) {
    const std::string_view pair = merges->text(i);
    const std::size_t space = pair.find(' ', 1);
    if (space == pair.npos || space + 1 == pair.size())
      file.fail(kMerges, fmt::format("expected two names and a space between them, got {}", quote_name(pair)));
    whole.assign(pair.substr(0, space)).append(pair.substr(space + 1));
    out.merges.push_back({id(pair.substr(0, space)), id(pair.substr(space + 1)), id(whole)});
  }
}

std::size_t characters(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, [](char c) { return (c & 0xc0) != 0x80; }));
}

/// A vocabulary with scores joins the neighbours whose whole has the best score: merges of all its tokens in the order of their scores; of
/// one token's the longest left part first, then the right, as Hugging Face's converter of such vocabularies has them.
void make_merges(const GgufFile& file, TokenizerParts& out) {
  const GgufValue* scores = file.reals(kScores);
  if (!scores) file.fail(kScores, "is missing, expected a list of numbers");
  if (scores->size() != out.tokens.size())
    file.fail(kScores, fmt::format("expected a score for each of {} tokens, got {}", out.tokens.size(), scores->size()));
  const Ids ids = ids_of(out);
  struct Scored {
    double score;
    std::size_t left_characters, right_characters;
    PairMerge merge;
  };
  std::vector<Scored> found;
  for (std::size_t id = 0; id < out.tokens.size(); ++id) {
    const std::string_view whole = out.tokens[id];
    if (const auto own = ids.find(whole); own == ids.end() || own->second != static_cast<int>(id)) continue;
    const std::size_t first = found.size();
    for (std::size_t at = 1; at < whole.size(); ++at) {
      if ((whole[at] & 0xc0) == 0x80) continue;
      const auto left = ids.find(whole.substr(0, at)), right = ids.find(whole.substr(at));
      if (left == ids.end() || right == ids.end()) continue;
      found.push_back(
          {scores->real(id), characters(left->first), characters(right->first), {left->second, right->second, static_cast<int>(id)}});
    }
    std::sort(found.begin() + static_cast<std::ptrdiff_t>(first), found.end(), [](const Scored& a, const Scored& b) {
      return std::tie(a.merge.left, a.merge.right) < std::tie(b.merge.left, b.merge.right);
    });
  }
  std::ranges::stable_sort(found, [](const Scored& a, const Scored& b) {
    return std::tie(a.score, a.left_characters, a.right_characters) > std::tie(b.score, b.left_characters, b.right_characters);
  });
  out.merges.reserve(found.size());
  for (const Scored& scored : found) out.merges.push_back(scored.merge);
}

void read_byte_pairs(const GgufFile& file, TokenizerParts& out) {
  WordRule rule = word_rule_of(file, file.text("tokenizer.ggml.pre"));
  out.unknown = -1;
  add_named_tokens(file, out);
  read_merges(file, out);
  if (rule.nfc) out.normalizers.push_back(Normalize{NormalForm::nfc});
  out.pre_tokenizers = std::move(rule.steps);
  out.ignore_merges = rule.ignore_merges;
  out.decoding.byte_letters = true;
  if (file.flag_or("tokenizer.ggml.add_bos_token", rule.begins_with_bos))
    if (const int bos = id_of(file, "tokenizer.ggml.bos_token_id", out, -1); bos >= 0) out.first_ids = {bos};
}

void read_scored_pieces(const GgufFile& file, TokenizerParts& out) {
  out.unknown = id_of(file, "tokenizer.ggml.unknown_token_id", out, 0);
  add_named_tokens(file, out);
  make_merges(file, out);
  out.fuse_unknown = out.byte_fallback = true;
  const bool prefix = file.flag_or("tokenizer.ggml.add_space_prefix", true);
  if (prefix) out.normalizers.push_back(Prepend{std::string(kSpaceMark)});
  out.normalizers.push_back(Replace{{" ", false}, std::string(kSpaceMark)});
  out.decoding = {.byte_fallback = true, .replacements = {{std::string(kSpaceMark), " "}}, .strip_space = prefix};
  if (file.flag_or("tokenizer.ggml.add_bos_token", true))
    if (const int bos = id_of(file, "tokenizer.ggml.bos_token_id", out, 1); bos >= 0) out.first_ids = {bos};
}

}  // namespace

std::unique_ptr<Tokenizer> open_gguf_tokenizer(const GgufFile& file) {
  constexpr std::string_view kModel = "tokenizer.ggml.model";
  const std::string_view model = file.text_or(kModel, "no_vocab");
  if (model == "no_vocab") return nullptr;
  if (model != "gpt2" && model != "llama")
    file.fail(kModel, fmt::format("unknown kind of tokenizer {} (known: gpt2, llama)", quote_name(model)));
  if (!file.texts(kTokens)) file.fail(kTokens, "is missing, expected a list of texts");
  TokenizerParts parts;
  parts.name = file.name();
  read_tokens(file, parts);
  model == "gpt2" ? read_byte_pairs(file, parts) : read_scored_pieces(file, parts);
  return make_tokenizer(std::move(parts));
}

std::optional<ChatTemplate> open_gguf_chat_template(const GgufFile& file) {
  const std::string_view source = file.text_or("tokenizer.chat_template", "");
  if (source.empty()) return std::nullopt;
  const GgufValue* names = file.texts(kTokens);
  const auto name_of = [&](const char* key) -> std::string {
    const std::int64_t id = file.whole_or(key, -1);
    const bool known = names && id >= 0 && id < static_cast<std::int64_t>(names->size());
    return known ? std::string(names->text(static_cast<std::size_t>(id))) : "";
  };
  return ChatTemplate(std::string(source), file.name(), name_of("tokenizer.ggml.bos_token_id"), name_of("tokenizer.ggml.eos_token_id"));
}

}  // namespace kvscope
