// SPDX-License-Identifier: Apache-2.0
#include "app/window/files/json_asset.h"

#include <QJsonDocument>

#include "core/error.h"
#include "io/files.h"

namespace kvscope {

QJsonObject readJsonAsset(const QString& path, const char* kind, const char* expected) {
  constexpr std::size_t kMostBytes = 1u << 20;
  const auto wrong = [&path](const QString& what) { return Error((path + ": " + what).toStdString()); };
  QJsonParseError error;
  const QJsonDocument json = QJsonDocument::fromJson(QByteArray::fromStdString(read_text(path.toStdString(), kMostBytes)), &error);
  if (error.error != QJsonParseError::NoError) throw wrong(QString("%1 at byte %2").arg(error.errorString()).arg(error.offset));
  QJsonObject o = json.object();
  if (o["kvscope"].toString() != kind || o["version"].toInt() != 1) throw wrong(QString("expected %1, version 1").arg(expected));
  return o;
}

}  // namespace kvscope
