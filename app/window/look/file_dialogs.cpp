// SPDX-License-Identifier: Apache-2.0
#include "app/window/look/file_dialogs.h"

#include <QApplication>
#include <QEvent>
#include <QFileDialog>
#include <QHeaderView>
#include <QTreeView>

namespace kvscope {

namespace {

constexpr const char* kWrites = "writes";  // of a dialog

}  // namespace

QString folderToWriteTo(QWidget* over, const QString& title, const QString& before) {
  QFileDialog dialog(over, title, before);
  dialog.setFileMode(QFileDialog::Directory);
  dialog.setOption(QFileDialog::ShowDirsOnly);
  dialog.setProperty(kWrites, true);
  return dialog.exec() == QDialog::Accepted ? dialog.selectedFiles().value(0) : QString();
}

FileDialogs::FileDialogs(QObject* parent) : QObject(parent) { qApp->installEventFilter(this); }

bool FileDialogs::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() != QEvent::Show) return false;
  auto* dialog = qobject_cast<QFileDialog*>(watched);
  if (dialog && dialog->acceptMode() == QFileDialog::AcceptOpen && !dialog->property(kWrites).toBool())
    dialog->setOption(QFileDialog::ReadOnly);
  auto* files = dialog ? dialog->findChild<QTreeView*>("treeView") : nullptr;
  if (files == nullptr) return false;  // one of the desktop's own
  QHeaderView& header = *files->header();
  header.setStretchLastSection(false);
  header.setSectionResizeMode(QHeaderView::ResizeToContents);
  header.setSectionResizeMode(0, QHeaderView::Stretch);
  return false;
}

}  // namespace kvscope
