// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QDir>
#include <QStandardPaths>
#include <QString>

namespace kvscope {

/// Where files are offered to be kept before anything was chosen: the documents' folder; where there is none, the home.
inline QString usualFolder() {
  const QString documents = QStandardPaths::writableLocation(QStandardPaths::DocumentsLocation);
  return QDir(documents).exists() ? documents : QDir::homePath();
}

}  // namespace kvscope
