// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <mutex>

#include "core/error.h"
#include "core/from_chars.h"
#include "tokenizer/added_tokens.h"
#include "tokenizer/bpe.h"
#include "tokenizer/pre_tokenizer.h"
#include "tokenizer/tokenizer.h"

namespace kvscope {
namespace {

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != text.npos; at = text.find(from, at + to.size())) text.replace(at, from.size(), to);
  return text;
}

/// The bytes that a name in letters of bytes stands for; a name with anything else stands for itself.
std::string bytes_of_letters(const std::string& name) {
  std::string bytes;
  for (std::size_t at = 0; at < name.size();) {
    const int byte = byte_of_letter(next_character(name, at));
    if (byte < 0) return name;
    bytes += static_cast<char>(byte);
  }
  return bytes;
}

std::string text_of_name(const std::string& name, const Decoding& decoding) {
  if (decoding.byte_letters) return bytes_of_letters(name);
  unsigned byte = 0;
  if (decoding.byte_fallback && name.size() == 6 && name.starts_with("<0x") && name.ends_with('>')) {
    const auto [end, error] = from_chars(name.data() + 3, name.data() + 5, byte, 16);
    if (error == std::errc() && end == name.data() + 5) return std::string(1, static_cast<char>(byte));
  }
  std::string text = name;
  for (const auto& [from, to] : decoding.replacements) text = replaced(std::move(text), from, to);
  return text;
}

std::vector<std::string> names_of(const std::vector<AddedToken>& added, bool normalized, const NormalizerChain& normalizer) {
  std::vector<std::string> out;
  for (const AddedToken& token : added) {
    std::string name = token.normalized == normalized ? token.content : "";
    if (normalized) name = normalizer.apply({.text = name, .base = 0, .origin = {}}).text;
    out.push_back(std::move(name));
  }
  return out;
}

class BpeTokenizer : public Tokenizer {
 public:
  explicit BpeTokenizer(TokenizerParts parts)
      : parts_(std::move(parts)),
        normalizer_(parts_.normalizers, parts_.name),
        pre_tokenizer_(parts_.pre_tokenizers, parts_.name),
        as_written_(parts_.added, names_of(parts_.added, false, normalizer_)),
        normalized_(parts_.added, names_of(parts_.added, true, normalizer_)),
        bpe_(parts_, pre_tokenizer_.byte_level()) {
    make_tokens();
  }

  int vocab_size() const override { return static_cast<int>(tokens_.size()); }
  std::string bytes_of(int id) const override { return known(id) ? tokens_[static_cast<std::size_t>(id)].bytes : ""; }
  bool is_special(int id) const override { return !known(id) || tokens_[static_cast<std::size_t>(id)].special; }
  std::string piece(int id) const override { return known(id) ? tokens_[static_cast<std::size_t>(id)].piece : fmt::format("⟨{}⟩", id); }
  bool adds_leading_space() const override { return parts_.decoding.strip_space; }
  std::optional<int> first_id() const override { return parts_.first_ids.empty() ? -1 : parts_.first_ids.front(); }

  std::vector<TextToken> tokens_of(std::string_view text, SpecialNames names, std::span<const TextRange> typed) const override {
    const MappedText valid = valid_utf8(text);
    const auto is_text_in = [&](const MappedText& part) {
      return [&](Span name) {
        const std::size_t begin = part.place(name.begin), end = part.place(name.end);
        return names == SpecialNames::text ||
               std::ranges::any_of(typed, [&](const TextRange& range) { return range.begin < end && begin < range.end; });
      };
    };
    std::vector<TextToken> out;
    const std::lock_guard lock(mutex_);  // the encoder remembers words
    for (const Stretch& written : as_written_.find(valid.text, is_text_in(valid))) {
      if (written.token >= 0) {
        add(written, valid, out);
        continue;
      }
      const MappedText part = normalizer_.apply(valid.part(written.span));
      for (const Stretch& stretch : normalized_.find(part.text, is_text_in(part))) {
        if (stretch.token >= 0) {
          add(stretch, part, out);
        } else {
          encode_words(pre_tokenizer_.apply(part.part(stretch.span), written.span.begin == 0 && stretch.span.begin == 0), out);
        }
      }
    }
    return out;
  }

 private:
  struct Token {
    std::string piece, bytes;
    bool special = false;
  };

  bool known(int id) const { return id >= 0 && id < vocab_size(); }

  void make_tokens() {
    tokens_.reserve(parts_.tokens.size());
    for (std::size_t id = 0; id < parts_.tokens.size(); ++id) {
      const std::string& name = parts_.tokens[id];
      if (name.empty())
        tokens_.push_back({fmt::format("⟨{}⟩", id), "", true});
      else
        tokens_.push_back({name, text_of_name(name, parts_.decoding), false});
    }
    for (const AddedToken& token : parts_.added) {
      Token& t = tokens_[static_cast<std::size_t>(token.id)];
      t = {token.content, token.special ? "" : text_of_name(token.content, parts_.decoding), token.special};
    }
    if (parts_.unknown >= 0) {
      tokens_[static_cast<std::size_t>(parts_.unknown)].special = true;
      tokens_[static_cast<std::size_t>(parts_.unknown)].bytes = "";
    }
  }

  void add(const Stretch& found, const MappedText& text, std::vector<TextToken>& out) const {
    out.push_back({parts_.added[static_cast<std::size_t>(found.token)].id, text.place(found.span.begin), text.place(found.span.end)});
  }

  void encode_words(const Words& words, std::vector<TextToken>& out) const {
    std::vector<BpeToken> tokens;
    std::string bytes;
    for (const Span word : words.spans) {
      std::string_view text = std::string_view(words.text.text).substr(word.begin, word.end - word.begin);
      if (words.letters) text = bytes = bytes_of_letters(std::string(text));
      tokens.clear();
      bpe_.encode(text, tokens);
      std::size_t at = word.begin;
      for (const BpeToken& token : tokens) {
        const std::size_t begin = at;
        if (words.letters) {
          for (std::uint32_t i = 0; i < token.bytes; ++i) at += character_bytes(words.text.text[at]);
        } else {
          at += token.bytes;
        }
        out.push_back({token.id, words.text.place(begin), words.text.place(at)});
      }
    }
  }

  const TokenizerParts parts_;
  const NormalizerChain normalizer_;
  const PreTokenizerChain pre_tokenizer_;
  const AddedTokenFinder as_written_, normalized_;
  std::vector<Token> tokens_;
  mutable std::mutex mutex_;
  mutable Bpe bpe_;
};

}  // namespace

std::unique_ptr<Tokenizer> make_tokenizer(TokenizerParts parts) {
  const auto n = static_cast<int>(parts.tokens.size());
  const auto check = [&](int id, const char* what) {
    if (id < 0 || id >= n || parts.tokens[static_cast<std::size_t>(id)].empty())
      throw Error(fmt::format("{}: {}: expected the id of one of {} tokens, got {}", parts.name, what, n, id));
  };
  for (const PairMerge& m : parts.merges)
    for (const int id : {m.left, m.right, m.whole}) check(id, "merges");
  for (const AddedToken& token : parts.added) check(token.id, "added_tokens");
  for (const int id : parts.first_ids) check(id, "post_processor");
  if (parts.unknown >= 0) check(parts.unknown, "unk_token");
  if (n == 0) throw Error(fmt::format("{}: expected tokens, got an empty vocabulary", parts.name));
  if (parts.first_ids.size() > 1)
    throw Error(fmt::format("{}: post_processor: expected at most one token before the text, got {}", parts.name, parts.first_ids.size()));
  return std::make_unique<BpeTokenizer>(std::move(parts));
}

}  // namespace kvscope
