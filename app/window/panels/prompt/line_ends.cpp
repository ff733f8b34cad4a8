// SPDX-License-Identifier: Apache-2.0
#include "app/window/panels/prompt/line_ends.h"

#include "app/window/session/hand/common_ends.h"

namespace kvscope {

namespace {

constexpr QChar kReturn('\r'), kLine('\n');

/// Characters of `text` that its first n shown ones are.
qsizetype behind(const QString& text, qsizetype n) {
  qsizetype at = 0;
  for (; n > 0 && at < text.size(); --n, ++at)
    if (text[at] == kReturn && at + 1 < text.size() && text[at + 1] == kLine) ++at;
  return at;
}

/// All of them: what is typed into such a text ends its lines as well.
bool endsLinesByCrLf(const QString& text) {
  const auto n = text.count("\r\n");
  return n > 0 && text.count(kReturn) == n && text.count(kLine) == n && !text.contains(QChar::ParagraphSeparator);
}

}  // namespace

QString shownText(const QString& text) {
  if (!text.contains(kReturn) && !text.contains(QChar::ParagraphSeparator)) return text;
  QString out = text;
  return out.replace("\r\n", "\n").replace(kReturn, kLine).replace(QChar::ParagraphSeparator, kLine);
}

QString withLineEndsOf(const QString& text, const QString& shown) {
  const QString before = shownText(text);
  if (before == text) return shown;
  const auto [front, back] = common_ends(before, shown);
  const auto begin = static_cast<qsizetype>(front), same = static_cast<qsizetype>(back);
  QString out = text.left(behind(text, begin));
  QString typed = shown.mid(begin, shown.size() - same - begin);
  if (begin + same > 0 && endsLinesByCrLf(text)) typed.replace(kLine, "\r\n");
  const QString rest = typed + text.mid(behind(text, before.size() - same));
  for (qsizetype i = out.size(); rest.startsWith(kLine) && i > 0 && out[i - 1] == kReturn; --i)
    out[i - 1] = kLine;  // two must not become one
  return out + rest;
}

}  // namespace kvscope
