// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace kvscope {

/// Text to token ids and back. Thread-safe after construction.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  virtual int vocab_size() const = 0;
  /// Ids of the whole text, without BOS. Never throws; invalid UTF-8 becomes U+FFFD.
  virtual std::vector<int> encode(std::string_view text) const = 0;
  /// The same as encode() where these are at most `most` ids; else ids of a beginning of the text, more than `most`: the time and memory
  /// are those of what can be used, however long the text is. `whole`: set to whether they are of the whole text.
  std::vector<int> encode_up_to(std::string_view text, std::size_t most, bool* whole = nullptr) const;
  /// Raw bytes one token stands for inside a text (a leading space included; one byte for byte pieces; empty for control tokens). id in [0, vocab_size).
  virtual std::string bytes_of(int id) const = 0;
  /// True for control and unknown pieces (<s>, </s>, <unk>): shown as a pill, never part of the text.
  virtual bool is_special(int id) const = 0;
  /// Name of the piece as the tokenizer file has it, e.g. "<s>".
  virtual std::string piece(int id) const = 0;
  /// True if encode() puts a space before the text that decode() takes away again (sentencepiece add_dummy_prefix).
  virtual bool adds_leading_space() const = 0;

  /// Text of ids: bytes joined, the tokenizer's own leading space removed once, incomplete UTF-8 at the end kept as it is.
  std::string decode(const std::vector<int>& ids) const;

  /// Reads a sentencepiece model. Throws Error.
  static std::unique_ptr<Tokenizer> open_sentencepiece(const std::string& path);
  /// For model folders without a tokenizer: pieces are "⟨id⟩"; encode() throws Error and says so.
  static std::unique_ptr<Tokenizer> ids_only(int vocab_size);
};

}  // namespace kvscope
