// SPDX-License-Identifier: Apache-2.0
#include "app/window/files/recent_files.h"

#include <QDir>
#include <QFileInfo>
#include <QMenu>
#include <QSettings>

#include "app/window/commands/commands.h"

namespace kvscope {

RecentFiles::RecentFiles(QSettings* settings, QObject* parent) : QObject(parent), m_settings(settings) {
  if (settings) m_all = settings->value("recent").toStringList().mid(0, kMost);
}

void RecentFiles::add(const QString& path) {
  const QString absolute = QFileInfo(path).absoluteFilePath();
  m_all.removeAll(absolute);
  m_all.prepend(absolute);
  m_all = m_all.mid(0, kMost);
  store();
}

void RecentFiles::remove(const QString& path) {
  m_all.removeAll(path);
  store();
}

void RecentFiles::replace(const QString& from, const QString& to) {
  for (QString& path : m_all)
    if (path == from) path = to;
  store();
}

void RecentFiles::clear() {
  m_all.clear();
  store();
}

void RecentFiles::store() {
  if (m_settings) m_settings->setValue("recent", m_all);
  Q_EMIT changed();
}

void RecentFiles::attach(QMenu* menu) {
  const auto fill = [this, menu] {
    menu->clear();
    int i = 0;
    for (const QString& path : m_all) {
      const QFileInfo file(path);
      QString text = path;
      if (path.startsWith(QDir::homePath() + '/')) text = '~' + path.mid(QDir::homePath().size());
      text = asLabel(menu->fontMetrics().elidedText(text, Qt::ElideMiddle, 420));
      QAction* action = menu->addAction(QString("&%1  %2%3").arg(++i % 10).arg(text, file.exists() ? "" : "  (missing)"));
      action->setToolTip(path);
      action->setEnabled(file.exists());
      connect(action, &QAction::triggered, this, [this, path] { Q_EMIT openRequested(path); });
    }
    if (m_all.isEmpty()) menu->addAction("nothing yet")->setEnabled(false);
    menu->addSeparator();
    menu->addAction("&Clear this list", this, &RecentFiles::clear)->setEnabled(!m_all.isEmpty());
  };
  menu->setToolTipsVisible(true);
  connect(menu, &QMenu::aboutToShow, this, fill);
  fill();
}

}  // namespace kvscope
