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

/// Whether a file may be written: asks where it is there already. Of a folder, which nothing replaces, whoever writes says so.
inline bool mayBeWritten(const QString& path, QWidget& over) {
  return !QFileInfo::exists(path) || QFileInfo(path).isDir() ||
         QMessageBox::question(&over, "Replace the file?", path + " is there already. Replace it?", QMessageBox::Yes | QMessageBox::No,
                               QMessageBox::No) == QMessageBox::Yes;
}

/// Of the kinds of a dialog, "Web page (*.html);;All files (*)", that of `kind` first.
inline QStringList endingsOf(const QString& kinds, const QString& kind) {
  QStringList out;
  for (const QString& one : QStringList{kind} + kinds.split(";;"))
    if (const QString ending = one.section("(*", 1).section(')', 0, 0); !ending.isEmpty()) out << ending;
  return out;
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

/// The name of a file, of what was typed and the kind that was chosen.
using NameOf = std::function<QString(const QString& chosen, const QString& kind)>;

/// Asks for the file that something is written to; empty: none. Its name has an ending of its kind, or is what `named` makes of it: only
/// that file is asked about before it is replaced.
inline QString askWhereToWrite(QWidget& over, const QString& title, const QString& before, const QString& kinds, QString* kind = nullptr,
                               const NameOf& named = {}) {
  QString of;
  const QString chosen = QFileDialog::getSaveFileName(&over, title, before, kinds, &of, QFileDialog::DontConfirmOverwrite);
  if (kind) *kind = of;
  if (chosen.isEmpty()) return {};
  const QString path = named ? named(chosen, of) : withEnding(chosen, endingsOf(kinds, of));
  return mayBeWritten(path, over) ? path : QString();
}

}  // namespace kvscope
