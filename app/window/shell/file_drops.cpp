// SPDX-License-Identifier: Apache-2.0
#include "app/window/shell/file_drops.h"

#include <QApplication>
#include <QDockWidget>
#include <QDropEvent>
#include <QLineEdit>
#include <QMainWindow>
#include <QMimeData>

namespace kvscope {

FileDrops::FileDrops(QMainWindow& window) : QObject(&window), m_window(window) {
  window.setAcceptDrops(true);
  qApp->installEventFilter(this);
}

bool FileDrops::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() != QEvent::DragEnter && event->type() != QEvent::Drop) return false;
  auto* drop = static_cast<QDropEvent*>(event);
  const QList<QUrl> urls = drop->mimeData()->urls();
  if (urls.size() != 1 || !urls.front().isLocalFile()) return false;
  const auto is_ours = [this](const QObject* window) {
    const auto* const dock = qobject_cast<const QDockWidget*>(window);
    return window == &m_window || (dock && dock->isFloating() && m_window.isAncestorOf(dock->parentWidget()));
  };
  if (const auto* const field = qobject_cast<QLineEdit*>(watched); field && is_ours(field->window())) {
    drop->ignore();  // its window is asked next
    return true;
  }
  if (!is_ours(watched)) return false;
  drop->acceptProposedAction();
  if (event->type() == QEvent::Drop) Q_EMIT dropped(urls.front().toLocalFile());
  return true;
}

}  // namespace kvscope
