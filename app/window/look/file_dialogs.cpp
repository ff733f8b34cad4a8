// SPDX-License-Identifier: Apache-2.0
#include "app/window/look/file_dialogs.h"

#include <QApplication>
#include <QEvent>
#include <QFileDialog>
#include <QHeaderView>
#include <QTreeView>

namespace kvscope {

FileDialogs::FileDialogs(QObject* parent) : QObject(parent) { qApp->installEventFilter(this); }

bool FileDialogs::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() != QEvent::Show) return false;
  const auto* dialog = qobject_cast<QFileDialog*>(watched);
  auto* files = dialog ? dialog->findChild<QTreeView*>("treeView") : nullptr;
  if (files == nullptr) return false;  // one of the desktop's own
  QHeaderView& header = *files->header();
  header.setStretchLastSection(false);
  header.setSectionResizeMode(QHeaderView::ResizeToContents);
  header.setSectionResizeMode(0, QHeaderView::Stretch);
  return false;
}

}  // namespace kvscope
