// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <QString>

#include "snapshot/snapshot.h"

namespace kvscope {

/// A border between two tokens in UTF-16 text. A token may end inside a character (byte tokens): `part` is how much of the character at
/// `at` lies before the border, in [0, 1).
struct TextBorder {
  int at = 0;
  double part = 0;
  bool operator==(const TextBorder&) const = default;
};

/// Where each token lies in the editor's text, which may have moved on since the tokens were made: only tokens inside the common beginning
/// and the common end of both texts are known.
class TokenSpans {
 public:
  struct Span {
    int token = 0;
    TextBorder begin, end;
  };

  /// Takes the byte ranges of the prompt's tokens over into UTF-16. `text`: what the editor holds.
  void setTokens(const Snapshot& snapshot, const QString& text);
  void setText(const QString& text);

  /// Known tokens that touch [begin, end), in the order of the text.
  std::vector<Span> in(int begin, int end) const;
  /// Tokens that touch [begin, end) as first and last index; {-1, -1} for none.
  std::pair<int, int> tokens(int begin, int end) const;
  /// UTF-16 position at which a token begins; -1: not in the text.
  int positionOf(int token) const;
  /// Characters of the tokenised text (UTF-16) after its last token: what was not read.
  int unread() const { return m_unread; }

 private:
  Span moved(const Span& span) const;

  std::vector<Span> m_spans;  // in the text that was tokenised
  QString m_tokenised;
  int m_prefix = 0;  // UTF-16 units both texts begin with
  int m_suffix = 0;  // UTF-16 units both texts end with, not overlapping the prefix
  int m_shift = 0;   // of the common end
  int m_unread = 0;
};

}  // namespace kvscope
