// SPDX-License-Identifier: Apache-2.0
#include "app/window/help/glossary.h"

#include <QRegularExpression>

#include "core/assets.h"
#include "core/error.h"
#include "io/json_asset.h"

namespace kvscope {

namespace {

QStringList strings(const JsonCursor& object, std::string_view key) {
  QStringList out;
  for (const std::string& text : texts_under(object, key)) out << QString::fromStdString(text);
  return out;
}

}  // namespace

Glossary Glossary::read(const QString& path) {
  const JsonDocument document = read_json_asset(path.toStdString(), "glossary", "a glossary");
  const JsonCursor o(document), terms = o.at("terms"), views = o.at("views");
  Glossary out;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    const JsonCursor t = terms.at(i);
    const auto text = [&t](const char* key) { return QString::fromStdString(t.text_or(key, "")); };
    out.m_terms << Term{text("name"), strings(t, "aliases"), text("text"), text("unit"), text("equation"), text("source")};
  }
  for (std::size_t i = 0; i < views.n_members(); ++i) {
    const std::string_view id = views.member_name(i);
    out.m_views[QString::fromUtf8(id.data(), static_cast<qsizetype>(id.size()))] = strings(views, id);
  }
  return out;
}

const Glossary& Glossary::builtIn() {
  static const Glossary kBuiltIn = [] {
    try {
      return read(QString::fromStdString(asset("lessons/glossary.json")));
    } catch (const Error&) {
      return Glossary();  // help that is missing must not stop the program
    }
  }();
  return kBuiltIn;
}

const Term* Glossary::find(const QString& label) const {
  static const QRegularExpression kUnit("\\s*\\([^)]*\\)\\s*$");
  const QString wanted = QString(label).remove(kUnit).trimmed();
  for (const QString& words : {wanted, wanted.section(',', 0, 0)})  // "mean KL, nats" is a title, too
    for (const Term& term : m_terms)
      if (term.name.compare(words, Qt::CaseInsensitive) == 0 || term.aliases.contains(words, Qt::CaseInsensitive)) return &term;
  return nullptr;
}

QString Glossary::html(const Term& term) {
  QString out = QString("<p><b>%1</b>. %2").arg(term.name.toHtmlEscaped(), term.text.toHtmlEscaped());
  if (!term.equation.isEmpty()) out += QString("<br/><code>%1</code>").arg(term.equation.toHtmlEscaped());
  if (!term.unit.isEmpty()) out += QString("<br/><i>unit: %1</i>").arg(term.unit.toHtmlEscaped());
  if (!term.source.isEmpty()) out += QString("<br/>%1").arg(term.source.toHtmlEscaped());
  return out + "</p>";
}

QString Glossary::about(const QString& label) const {
  const Term* term = find(label);
  return term ? html(*term) : QString();
}

QString Glossary::aboutView(const QString& id) const {
  const auto it = m_views.find(id);
  QString out;
  if (it == m_views.end()) return out;
  for (const QString& name : it->second) out += about(name);
  return out;
}

}  // namespace kvscope
