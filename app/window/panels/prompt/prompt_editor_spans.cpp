// SPDX-License-Identifier: Apache-2.0
#include "app/window/panels/prompt/prompt_editor_spans.h"

#include <algorithm>
#include <string_view>

#include "app/window/panels/prompt/line_ends.h"

namespace kvscope {

namespace {

/// Places of bytes of a text in UTF-16 as it is shown, asked for in (nearly) ascending order. Broken bytes count as one unit each, as
/// QString::fromUtf8 makes of them, and CR LF as the one line end that it is.
class Borders {
 public:
  explicit Borders(std::string_view utf8) : m_utf8(utf8) {}

  TextBorder at(std::size_t byte) {
    if (byte < m_byte) m_byte = 0, m_unit = 0;
    while (m_byte < byte) {
      const std::size_t n = length();
      if (m_byte + n > byte) return {m_unit, static_cast<double>(byte - m_byte) / static_cast<double>(n)};
      const bool of_two = m_utf8[m_byte] == '\r' && m_byte + 1 < m_utf8.size() && m_utf8[m_byte + 1] == '\n';
      m_unit += n == 4 ? 2 : of_two ? 0 : 1;
      m_byte += n;
    }
    return {m_unit, 0};
  }

 private:
  /// Bytes of the character at m_byte.
  std::size_t length() const {
    const auto lead = static_cast<unsigned char>(m_utf8[m_byte]);
    const std::size_t n = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc2 ? 2 : 1;
    if (lead >= 0xf5 || m_byte + n > m_utf8.size()) return 1;
    for (std::size_t k = 1; k < n; ++k)
      if ((static_cast<unsigned char>(m_utf8[m_byte + k]) & 0xc0) != 0x80) return 1;
    return n;
  }

  std::string_view m_utf8;
  std::size_t m_byte = 0;  // of the character asked for last, in it or at its end
  int m_unit = 0;
};

/// One past the last UTF-16 unit the token touches (a token that ends inside a character touches its first unit).
int lastUnit(const TokenSpans::Span& span) { return span.end.at + (span.end.part > 0 ? 1 : 0); }

}  // namespace

void TokenSpans::setTokens(const Snapshot& snapshot, const QString& text) {
  m_spans.clear();
  m_tokenised = shownText(QString::fromUtf8(snapshot.prompt.data(), static_cast<qsizetype>(snapshot.prompt.size())));
  m_spans.reserve(snapshot.tokens.size());
  Borders borders(snapshot.prompt);
  const int n_bytes = static_cast<int>(snapshot.prompt.size());
  int read = 0;
  for (std::size_t i = 0; i < snapshot.tokens.size(); ++i) {
    const TokenInfo& token = snapshot.tokens[i];
    if (token.text_begin < 0 || token.text_end <= token.text_begin || token.text_end > n_bytes) continue;
    const TextBorder begin = borders.at(static_cast<std::size_t>(token.text_begin));
    m_spans.push_back({static_cast<int>(i), begin, borders.at(static_cast<std::size_t>(token.text_end))});
    read = std::max(read, token.text_end);
  }
  m_unread = m_spans.empty() ? 0 : static_cast<int>(m_tokenised.size()) - borders.at(static_cast<std::size_t>(read)).at;
  setText(text);
}

void TokenSpans::setText(const QString& text) {
  const int n_old = static_cast<int>(m_tokenised.size()), n_new = static_cast<int>(text.size());
  const int n = std::min(n_old, n_new);
  m_prefix = static_cast<int>(std::mismatch(text.cbegin(), text.cbegin() + n, m_tokenised.cbegin()).first - text.cbegin());
  if (m_prefix > 0 && text[m_prefix - 1].isHighSurrogate()) --m_prefix;  // a half of a character is not common
  m_suffix = 0;
  while (m_suffix < n - m_prefix && text[n_new - 1 - m_suffix] == m_tokenised[n_old - 1 - m_suffix]) ++m_suffix;
  if (m_suffix > 0 && text[n_new - m_suffix].isLowSurrogate()) --m_suffix;
  m_shift = n_new - n_old;
}

TokenSpans::Span TokenSpans::moved(const Span& span) const {
  if (lastUnit(span) <= m_prefix) return span;
  if (span.begin.at < static_cast<int>(m_tokenised.size()) - m_suffix) return {-1, {}, {}};
  Span shifted = span;
  shifted.begin.at += m_shift;
  shifted.end.at += m_shift;
  return shifted;
}

std::vector<TokenSpans::Span> TokenSpans::in(int begin, int end) const {
  std::vector<Span> found;
  // Two sorted pieces: the tokens before the edit stand where they stood, those after it are shifted.
  const auto collect = [&](int from, int to) {
    auto it = std::partition_point(m_spans.begin(), m_spans.end(), [&](const Span& s) { return lastUnit(s) <= from; });
    for (; it != m_spans.end() && it->begin.at < to; ++it) {
      const Span span = moved(*it);
      if (span.token < 0 || span.begin.at >= end || lastUnit(span) <= begin) continue;
      found.push_back(span);
    }
  };
  collect(begin, end);
  if (m_shift != 0) collect(begin - m_shift, end - m_shift);
  std::sort(found.begin(), found.end(), [](const Span& a, const Span& b) { return a.token < b.token; });
  found.erase(std::unique(found.begin(), found.end(), [](const Span& a, const Span& b) { return a.token == b.token; }), found.end());
  return found;
}

std::pair<int, int> TokenSpans::tokens(int begin, int end) const {
  const std::vector<Span> spans = in(begin, end);
  if (spans.empty()) return {-1, -1};
  return {spans.front().token, spans.back().token};
}

int TokenSpans::positionOf(int token) const {
  const auto it = std::lower_bound(m_spans.begin(), m_spans.end(), token, [](const Span& s, int t) { return s.token < t; });
  if (it == m_spans.end() || it->token != token) return -1;
  const Span span = moved(*it);
  return span.token < 0 ? -1 : span.begin.at;
}

}  // namespace kvscope
