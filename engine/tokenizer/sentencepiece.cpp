// SPDX-License-Identifier: Apache-2.0
#if defined(KVSCOPE_SENTENCEPIECE)  // else without_sentencepiece.cpp
#include <fmt/format.h>
#include <sentencepiece_processor.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <utility>

#include "core/error.h"
#include "core/from_chars.h"
#include "tokenizer/added_tokens.h"
#include "tokenizer/tokenizer.h"

namespace kvscope {
namespace {

constexpr std::uintmax_t kMaxModelBytes = 256u << 20;
constexpr std::string_view kSpaceMark = "\xe2\x96\x81";  // U+2581, how sentencepiece writes a space inside a piece

std::string with_spaces(std::string_view piece) {
  std::string text;
  while (!piece.empty()) {
    const std::size_t mark = piece.find(kSpaceMark);
    text += piece.substr(0, mark);
    if (mark == std::string_view::npos) break;
    text += ' ';
    piece.remove_prefix(mark + kSpaceMark.size());
  }
  return text;
}

/// "<0x0A>" to its byte.
std::string byte_of_piece(const std::string& piece) {
  unsigned value = 0;
  if (piece.size() == 6 && piece.starts_with("<0x")) from_chars(piece.data() + 3, piece.data() + 5, value, 16);
  return std::string(1, static_cast<char>(value));
}

class SentencePiece : public Tokenizer {
 public:
  SentencePiece(std::unique_ptr<sentencepiece::SentencePieceProcessor> processor, const std::vector<AddedToken>& added)
      : processor_(std::move(processor)) {
    const int n = processor_->GetPieceSize();
    tokens_.reserve(static_cast<std::size_t>(n));
    for (int id = 0; id < n; ++id) {
      Token token{processor_->IdToPiece(id), "", processor_->IsControl(id) || processor_->IsUnknown(id)};
      if (!token.special) token.bytes = processor_->IsByte(id) ? byte_of_piece(token.piece) : with_spaces(token.piece);
      if (processor_->IsControl(id)) named_.push_back({.id = id, .content = token.piece, .special = true});
      tokens_.push_back(std::move(token));
    }
    for (const AddedToken& token : added) add(token);
    std::vector<std::string> names;
    for (const AddedToken& token : named_) names.push_back(token.content);
    finder_.emplace(named_, names);
    // The flag is only in the protobuf, whose header is not installed: ask for its effect.
    std::string probe;
    for (const int id : encode("a")) probe += bytes_of(id);
    adds_leading_space_ = probe.starts_with(' ') || probe.starts_with(kSpaceMark);
  }

  int vocab_size() const override { return static_cast<int>(tokens_.size()); }

  /// The library takes names of control tokens for text: they are looked for here, and what stands between them is a text of its own, with
  /// a space before it where the model puts one, as transformers does. Ranges are those of the tokens' own bytes.
  std::vector<TextToken> tokens_of(std::string_view text, SpecialNames names, std::span<const TextRange> typed) const override {
    const auto is_typed = [&](Span name) {
      return names == SpecialNames::text ||
             std::ranges::any_of(typed, [&](const TextRange& range) { return range.begin < name.end && name.begin < range.end; });
    };
    std::vector<TextToken> out;
    for (const Stretch& stretch : finder_->find(text, is_typed)) {
      const Span at = stretch.span;
      if (stretch.token >= 0) {
        out.push_back({named_[static_cast<std::size_t>(stretch.token)].id, at.begin, at.end});
        continue;
      }
      for (TextToken token : of_text(text.substr(at.begin, at.end - at.begin)))
        out.push_back({token.id, at.begin + token.begin, at.begin + token.end});
    }
    return out;
  }

  std::string bytes_of(int id) const override { return known(id) ? tokens_[static_cast<std::size_t>(id)].bytes : ""; }
  bool is_special(int id) const override { return !known(id) || tokens_[static_cast<std::size_t>(id)].special; }
  std::string piece(int id) const override { return known(id) ? tokens_[static_cast<std::size_t>(id)].piece : fmt::format("⟨{}⟩", id); }
  bool adds_leading_space() const override { return adds_leading_space_; }
  bool takes_whole_texts() const override { return true; }

 private:
  struct Token {
    std::string piece;
    std::string bytes;
    bool special;
  };

  /// What a file beside the model says of an id, also where the model has another piece there.
  void add(const AddedToken& token) {
    for (int id = vocab_size(); id <= token.id; ++id) tokens_.push_back({fmt::format("⟨{}⟩", id), "", true});
    tokens_[static_cast<std::size_t>(token.id)] = {token.content, token.special ? "" : token.content, token.special};
    std::erase_if(named_, [&token](const AddedToken& one) { return one.id == token.id; });
    named_.push_back(token);
  }

  std::vector<TextToken> of_text(std::string_view text) const {
    std::vector<int> ids;
    const auto status = processor_->Encode(absl::string_view(text.data(), text.size()), &ids);
    KVSCOPE_ASSERT(status.ok());  // only an unloaded model fails
    return places_of(ids, text.size());
  }

  // Models pad their vocabulary beyond the tokenizer's, so a sampled id may have no piece.
  bool known(int id) const { return id >= 0 && id < vocab_size(); }

  std::unique_ptr<sentencepiece::SentencePieceProcessor> processor_;
  std::vector<Token> tokens_;
  std::vector<AddedToken> named_;  // control tokens, and those of files beside the model
  std::optional<AddedTokenFinder> finder_;
  bool adds_leading_space_ = false;
};

std::string read_model(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error))
    throw Error(fmt::format("{}: expected a sentencepiece model, got no regular file", path));
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  if (error) throw Error(fmt::format("{}: cannot be read: {}", path, error.message()));
  if (size == 0 || size > kMaxModelBytes) {
    throw Error(fmt::format("{}: expected a sentencepiece model of 1 to {} bytes, got {}", path, kMaxModelBytes, size));
  }
  std::ifstream file(path, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (!file || bytes.size() != size) throw Error(fmt::format("{}: cannot be read", path));
  return bytes;
}

}  // namespace

std::unique_ptr<Tokenizer> open_sentencepiece(const std::string& path, const std::vector<AddedToken>& added) {
  const std::string bytes = read_model(path);
  auto processor = std::make_unique<sentencepiece::SentencePieceProcessor>();
  bool loaded = false;
  try {
    loaded = processor->LoadFromSerializedProto(absl::string_view(bytes.data(), bytes.size())).ok() && processor->GetPieceSize() > 0;
  } catch (const std::exception&) {  // protobuf reports some damage by throwing
  }
  if (!loaded)
    throw Error(
        fmt::format("{}: expected a sentencepiece model, got {} bytes that are none; is the download complete?", path, bytes.size()));
  return std::make_unique<SentencePiece>(std::move(processor), added);
}

}  // namespace kvscope
#endif
