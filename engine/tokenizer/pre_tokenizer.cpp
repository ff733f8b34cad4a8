// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/pre_tokenizer.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"

namespace kvscope {
namespace {

using Step = std::function<void(Words&, bool)>;

// What a byte-level step with its own expression splits by.
constexpr const char* kByteLevelWords = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

struct Piece {
  Span span;
  bool match = false;
};

/// Covers the text with matches and what is between them.
void pieces_of(std::string_view text, const Finder& find, std::vector<Piece>& out) {
  out.clear();
  std::size_t done = 0;
  for (std::size_t at = 0; at <= text.size();) {
    const auto match = find(text, at);
    if (!match) break;
    const bool empty = match->begin == match->end;
    if (!(empty && match->begin == done && !out.empty() && out.back().match)) {
      if (done != match->begin) out.push_back({{done, match->begin}, false});
      out.push_back({*match, true});
      done = match->end;
    }
    at = match->end;
    if (empty) at += at < text.size() ? character_bytes(text[at]) : 1;
  }
  if (done != text.size()) out.push_back({{done, text.size()}, false});
}

void join(std::vector<Piece>& pieces, SplitBehavior behavior) {
  std::vector<Piece> out;
  bool was_match = false;
  const auto follow = [&](const Piece& piece, bool backwards) {
    if (piece.match && !was_match && !out.empty()) {
      (backwards ? out.back().span.begin : out.back().span.end) = backwards ? piece.span.begin : piece.span.end;
    } else {
      out.push_back(piece);
    }
    was_match = piece.match;
  };
  switch (behavior) {
    case SplitBehavior::isolated:
      return;
    case SplitBehavior::removed:
      std::erase_if(pieces, [](const Piece& piece) { return piece.match; });
      return;
    case SplitBehavior::merged_with_previous:
      for (const Piece& piece : pieces) follow(piece, false);
      break;
    case SplitBehavior::merged_with_next:
      for (auto piece = pieces.rbegin(); piece != pieces.rend(); ++piece) follow(*piece, true);
      std::ranges::reverse(out);
      break;
    case SplitBehavior::contiguous:
      for (const Piece& piece : pieces) {
        if (!out.empty() && out.back().match == piece.match) {
          out.back().span.end = piece.span.end;
        } else {
          out.push_back(piece);
        }
      }
  }
  pieces = std::move(out);
}

void split(Words& words, const Finder& find, SplitBehavior behavior, bool invert) {
  std::vector<Span> spans;
  spans.reserve(words.spans.size() * 2);
  std::vector<Piece> pieces;
  for (const Span word : words.spans) {
    pieces_of(std::string_view(words.text.text).substr(word.begin, word.end - word.begin), find, pieces);
    if (invert)
      for (Piece& piece : pieces) piece.match = !piece.match;
    join(pieces, behavior);
    for (const Piece& piece : pieces)
      if (piece.span.begin < piece.span.end) spans.push_back({word.begin + piece.span.begin, word.begin + piece.span.end});
  }
  words.spans = std::move(spans);
}

Finder finder_of_characters(bool (*is)(char32_t)) {
  return [is](std::string_view text, std::size_t from) -> std::optional<Span> {
    for (std::size_t at = from; at < text.size();) {
      const std::size_t begin = at;
      if (is(next_character(text, at))) return Span{begin, at};
    }
    return std::nullopt;
  };
}

/// Every word rewritten: what stands before it, and itself with each `from` as `to`.
void rewrite(Words& words, const std::function<bool(std::string_view, std::size_t)>& needs_prefix, std::string_view prefix,
             std::string_view from, std::string_view to) {
  Rewriter out(words.text);
  std::vector<Span> spans;
  std::size_t size = 0;
  for (const Span word : words.spans) {
    const std::string_view text = std::string_view(words.text.text).substr(word.begin, word.end - word.begin);
    const std::size_t begin = size;
    if (needs_prefix(text, word.begin)) {
      out.put(prefix, {word.begin, word.begin});
      size += prefix.size();
    }
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t found = from.empty() ? text.npos : text.find(from, at), stop = std::min(found, text.size());
      out.keep({word.begin + at, word.begin + stop});
      size += stop - at;
      at = stop;
      if (found != text.npos) {
        out.put(to, {word.begin + at, word.begin + at + from.size()});
        size += to.size();
        at += from.size();
      }
    }
    spans.push_back({begin, size});
  }
  words.text = out.finish();
  words.spans = std::move(spans);
}

void write_in_letters(Words& words) {
  Rewriter out(words.text);
  std::vector<Span> spans;
  std::size_t size = 0;
  for (const Span word : words.spans) {
    const std::size_t begin = size;
    for (std::size_t at = word.begin; at < word.end; ++at) {
      const std::string_view letter = letter_of_byte(static_cast<unsigned char>(words.text.text[at]));
      out.put(letter, {at, at + 1});
      size += letter.size();
    }
    spans.push_back({begin, size});
  }
  words.text = out.finish();
  words.spans = std::move(spans);
  words.letters = true;
}

struct Ready {
  const std::string& where;
  bool more_steps;  // follow this one

  Step operator()(const SplitBy& s) const {
    return [find = finder_of(s.pattern, where), s](Words& words, bool) { split(words, find, s.behavior, s.invert); };
  }
  Step operator()(const SplitDigits& s) const {
    return [find = finder_of_characters(is_number), each = s.each](Words& words, bool) {
      split(words, find, each ? SplitBehavior::isolated : SplitBehavior::contiguous, false);
    };
  }
  Step operator()(const SplitPunctuation& s) const {
    return
        [find = finder_of_characters(is_punctuation), behavior = s.behavior](Words& words, bool) { split(words, find, behavior, false); };
  }
  Step operator()(const SplitWhiteSpace&) const {
    return [find = finder_of_characters(is_white_space)](Words& words, bool) { split(words, find, SplitBehavior::removed, false); };
  }
  Step operator()(const ByteLevel& b) const {
    const Finder find = b.use_regex ? finder_of({kByteLevelWords, true}, where) : Finder();
    return [find, prefix = b.add_prefix_space, in_letters = more_steps](Words& words, bool) {
      if (prefix)
        rewrite(
            words, [](std::string_view word, std::size_t) { return !word.starts_with(' '); }, " ", "", "");
      if (find) split(words, find, SplitBehavior::isolated, false);
      if (in_letters) write_in_letters(words);
    };
  }
  Step operator()(const Metaspace& m) const {
    return [m, find = finder_of({m.mark, false}, where)](Words& words, bool at_start) {
      const auto needs_prefix = [&](std::string_view word, std::size_t begin) {
        if (word.starts_with(m.mark) || word.starts_with(' ') || m.prepend == Metaspace::Scheme::never) return false;
        return m.prepend == Metaspace::Scheme::always || (at_start && begin == 0);
      };
      rewrite(words, needs_prefix, m.mark, " ", m.mark);
      if (m.split) split(words, find, SplitBehavior::merged_with_next, false);
    };
  }
};

}  // namespace

PreTokenizerChain::PreTokenizerChain(const std::vector<PreTokenizer>& steps, const std::string& where) {
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (std::holds_alternative<ByteLevel>(steps[i])) {
      if (byte_level_) throw Error(fmt::format("{}: pre_tokenizer: expected at most one ByteLevel, got two", where));
      byte_level_ = true;
    }
    steps_.push_back(std::visit(Ready{where, i + 1 < steps.size()}, steps[i]));
  }
}

Words PreTokenizerChain::apply(MappedText text, bool at_start) const {
  Words words{.text = std::move(text), .spans = {}};
  if (!words.text.text.empty()) words.spans.push_back({0, words.text.text.size()});
  for (const Step& step : steps_) step(words, at_start);
  return words;
}

}  // namespace kvscope
