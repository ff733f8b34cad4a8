// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/parts.h"

namespace kvscope {

/// What a name of a special token (<|end|>) inside a text is: the text that it looks like, or the token.
enum class SpecialNames { text, tokens };

/// A token of a text and the bytes [begin, end) of the text that it stands for. Of a character that was changed on the way to its tokens (a
/// normal form) the first token has all bytes. The ranges of all tokens follow one another and cover the text, but for what the tokenizer
/// drops.
struct TextToken {
  int id = 0;
  std::size_t begin = 0, end = 0;
};

/// Bytes [begin, end) of a text.
struct TextRange {
  std::size_t begin = 0, end = 0;
  bool operator==(const TextRange&) const = default;
};

std::vector<int> ids_of(std::span<const TextToken> tokens);

/// Text to token ids and back. Thread-safe after construction.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  virtual int vocab_size() const = 0;
  /// The whole text, without BOS; invalid UTF-8 becomes U+FFFD. In the `typed` parts names of special tokens are text in any case. Throws
  /// Error where there is no tokenizer, or its pattern does not end.
  virtual std::vector<TextToken> tokens_of(std::string_view text, SpecialNames names = SpecialNames::text,
                                           std::span<const TextRange> typed = {}) const = 0;
  /// Their ids.
  std::vector<int> encode(std::string_view text, SpecialNames names = SpecialNames::text) const;
  /// The same as tokens_of() where these are at most `most`; else those of a beginning of the text, more than `most`: the time and memory
  /// are those of what can be used, however long the text is. `whole`: set to whether they are of the whole text.
  std::vector<TextToken> tokens_up_to(std::string_view text, std::size_t most, SpecialNames names = SpecialNames::text,
                                      bool* whole = nullptr, std::span<const TextRange> typed = {}) const;
  /// Raw bytes one token stands for inside a text (a leading space included; one byte for byte pieces; empty for control tokens). id in [0,
  /// vocab_size).
  virtual std::string bytes_of(int id) const = 0;
  /// True for control and unknown pieces (<s>, </s>, <unk>): shown as a pill, never part of the text.
  virtual bool is_special(int id) const = 0;
  /// Name of the piece as the tokenizer file has it, e.g. "<s>".
  virtual std::string piece(int id) const = 0;
  /// True if encode() puts a space before the text that decode() takes away again (sentencepiece add_dummy_prefix).
  virtual bool adds_leading_space() const = 0;

  /// True where a text is encoded as a whole, by a library that takes about a hundred times its memory meanwhile.
  virtual bool takes_whole_texts() const { return false; }

  /// Token that the tokenizer itself puts before a text, -1: none; nullopt: it does not say, and the model's config does.
  virtual std::optional<int> first_id() const { return std::nullopt; }

  /// The same tokens with the bytes that each has of the text that they stand for, of `n_bytes`: those of bytes_of(), one token after the
  /// other, but for the tokenizer's own leading space.
  std::vector<TextToken> places_of(std::span<const int> ids, std::size_t n_bytes) const;

  /// Text of ids: bytes joined, the tokenizer's own leading space removed once, incomplete UTF-8 at the end kept as it is. With
  /// SpecialNames::tokens the names of special tokens are part of the text.
  std::string decode(const std::vector<int>& ids, SpecialNames names = SpecialNames::text) const;
};

/// Reads a sentencepiece model. added: tokens that it does not have, or has by another name; their ids are no negative ones. Throws Error.
std::unique_ptr<Tokenizer> open_sentencepiece(const std::string& path, const std::vector<AddedToken>& added = {});
/// Reads a tokenizer.json (byte-pair encoding of bytes, or of characters with bytes as a fallback). Throws Error naming the part that it
/// cannot do.
std::unique_ptr<Tokenizer> open_tokenizer_json(const std::string& path);
/// The same from its text; `name` is for messages.
std::unique_ptr<Tokenizer> parse_tokenizer_json(std::string_view text, const std::string& name);
/// From parts that are already in memory (a vocabulary inside another file). Throws Error where they do not fit together.
std::unique_ptr<Tokenizer> make_tokenizer(TokenizerParts parts);
/// How the refusal of a text begins where there is no tokenizer.
inline constexpr const char* kNoTokenizer = "the model folder has no tokenizer.model or tokenizer.json";
/// For model folders without a tokenizer: pieces are "⟨id⟩"; encode() throws Error and says so.
std::unique_ptr<Tokenizer> ids_only_tokenizer(int vocab_size);

}  // namespace kvscope
