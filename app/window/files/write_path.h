// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QFileInfo>
#include <QMessageBox>
#include <QString>

namespace kvscope {

/// `path`, where something is written that a dialog gave `chosen` for: the dialog has asked only whether that may be replaced. Empty: there
/// is such a file, and it stays.
inline QString pathToWrite(const QString& path, const QString& chosen, QWidget& over) {
  if (path == chosen || !QFileInfo::exists(path)) return path;
  const auto answer = QMessageBox::question(&over, "Replace the file?", path + " is there already. Replace it?",
                                            QMessageBox::Yes | QMessageBox::No, QMessageBox::No);
  return answer == QMessageBox::Yes ? path : QString();
}

/// The same of `chosen` with `ending` where it has none. Nothing of nothing.
inline QString withEnding(const QString& chosen, const QString& ending, QWidget& over) {
  return chosen.isEmpty() || !QFileInfo(chosen).suffix().isEmpty() ? chosen : pathToWrite(chosen + ending, chosen, over);
}

}  // namespace kvscope
