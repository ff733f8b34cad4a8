// SPDX-License-Identifier: Apache-2.0
#include "app/window/help/glossary.h"

#include <QJsonArray>
#include <QJsonObject>
#include <QRegularExpression>

#include "app/assets.h"
#include "app/window/files/json_asset.h"
#include "core/error.h"

namespace kvscope {

namespace {

QStringList strings(const QJsonValue& value) {
  QStringList out;
  for (const QJsonValue& v : value.toArray()) out << v.toString();
  return out;
}

}  // namespace

Glossary Glossary::read(const QString& path) {
  const QJsonObject o = readJsonAsset(path, "glossary", "a glossary");
  Glossary out;
  for (const QJsonValue& value : o["terms"].toArray()) {
    const QJsonObject t = value.toObject();
    out.m_terms << Term{t["name"].toString(), strings(t["aliases"]),    t["text"].toString(),
                        t["unit"].toString(), t["equation"].toString(), t["source"].toString()};
  }
  const QJsonObject views = o["views"].toObject();
  for (const QString& id : views.keys()) out.m_views[id] = strings(views[id]);
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
