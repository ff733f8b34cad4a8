// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include <QString>

namespace kvscope {

/// A text as an editor has it: CR, CR LF and the paragraph separator (U+2029) are one character each, LF.
QString shownText(const QString& text);
/// The text whose shown form is `shown`: what `text` has before and behind the place that differs, line ends included, stays as it is. What
/// is new has the line ends of `text` where that has CR LF only and something of it stays, else LF.
QString withLineEndsOf(const QString& text, const QString& shown);

/// The text of an editor whose document has one kind of line ends.
class ExactText {
 public:
  const QString& get() const { return m_text; }
  /// What the document has become, and is returned.
  QString follow(const QString& shown) {
    m_text = m_given ? *m_given : withLineEndsOf(m_text, shown);
    return shown;
  }
  /// Becomes this text; `show` puts its shown form into the document.
  template <class Show>
  void put(const QString& text, const Show& show) {
    m_given = text;
    show(shownText(text));
    m_given.reset();
    m_text = text;
  }

 private:
  QString m_text;
  std::optional<QString> m_given;
};

}  // namespace kvscope
