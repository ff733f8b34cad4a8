// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>

#include <QList>
#include <QString>
#include <QStringList>

namespace kvscope {

/// What a word on the screen means.
struct Term {
  QString name;
  QStringList aliases;  // other words for it: titles of columns and legends
  QString text, unit, equation, source;
};

/// The words of legends and columns, read from a file. Answers "What is this?" (Shift+F1).
class Glossary {
 public:
  /// { "kvscope": "glossary", "version": 1, "terms": […], "views": {…} }. Throws Error.
  static Glossary read(const QString& path);
  /// The one that comes with the program; empty where its file cannot be read.
  static const Glossary& builtIn();

  const QList<Term>& terms() const { return m_terms; }
  const std::map<QString, QStringList>& views() const { return m_views; }
  /// By name or alias, without case; units in brackets behind a label do not count. nullptr: unknown.
  const Term* find(const QString& label) const;
  /// Definition, unit, equation and source; empty for an unknown label.
  QString about(const QString& label) const;
  /// The main words of a view or panel.
  QString aboutView(const QString& id) const;

 private:
  static QString html(const Term& term);

  QList<Term> m_terms;
  std::map<QString, QStringList> m_views;
};

}  // namespace kvscope
