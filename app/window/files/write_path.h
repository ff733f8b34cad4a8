// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <functional>

#include <QFileDialog>
#include <QFileInfo>
#include <QMessageBox>
#include <QString>
#include <QStringList>

namespace kvscope {

/// Whether a file may be written: asks where it is there already. Not of no name.
inline bool mayBeWritten(const QString& path, QWidget& over) {
  if (path.isEmpty() || !QFileInfo::exists(path)) return !path.isEmpty();
  return QMessageBox::question(&over, "Replace the file?", path + " is there already. Replace it?", QMessageBox::Yes | QMessageBox::No,
                               QMessageBox::No) == QMessageBox::Yes;
}

/// A name with one of these endings: who writes one means it; one that names another kind of file gives way to the first of them, which a
/// name without any gets, too.
inline QString withEnding(const QString& chosen, const QStringList& endings) {
  const auto ends = [&chosen](const QString& ending) { return chosen.endsWith(ending, Qt::CaseInsensitive); };
  if (std::ranges::any_of(endings, ends)) return chosen;
  for (const QString& other : QStringList{".svg", ".png", ".csv", ".pdf", ".html", ".json", ".kvscope"})
    if (ends(other)) return chosen.chopped(other.size()) + endings.front();
  return QFileInfo(chosen).suffix().isEmpty() ? chosen + endings.front() : chosen;
}

/// Asks for the file that something is written to; empty: none. `named` makes its name of what was typed, of the chosen kind: only that
/// file is asked about before it is replaced.
inline QString askWhereToWrite(QWidget& over, const QString& title, const QString& before, const QString& kinds,
                               const std::function<QString(const QString& chosen, const QString& kind)>& named) {
  QString kind;
  const QString chosen = QFileDialog::getSaveFileName(&over, title, before, kinds, &kind, QFileDialog::DontConfirmOverwrite);
  const QString path = chosen.isEmpty() ? QString() : named(chosen, kind);
  return mayBeWritten(path, over) ? path : QString();
}
/// The same of one kind of file.
inline QString askWhereToWrite(QWidget& over, const QString& title, const QString& before, const QString& kinds, const QString& ending) {
  return askWhereToWrite(over, title, before, kinds, [&](const QString& chosen, const QString&) { return withEnding(chosen, {ending}); });
}

}  // namespace kvscope
