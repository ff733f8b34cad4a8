// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QObject>
#include <QStringList>

class QMenu;
class QSettings;

namespace kvscope {

/// Sessions, prompts and model folders opened or saved last, newest first.
class RecentFiles : public QObject {
  Q_OBJECT

 public:
  static constexpr int kMost = 12;

  /// `settings` nullptr: kept for this run only. Outlives this.
  explicit RecentFiles(QSettings* settings, QObject* parent = nullptr);

  const QStringList& all() const { return m_all; }
  /// Fills the menu each time it opens; what is missing on the disk is there, but greyed.
  void attach(QMenu* menu);

 public Q_SLOTS:
  void add(const QString& path);
  void remove(const QString& path);
  void replace(const QString& from, const QString& to);  // a renamed file keeps its place
  void clear();

 Q_SIGNALS:
  void changed();
  void openRequested(const QString& path);

 private:
  void store();
  QSettings* m_settings;
  QStringList m_all;
};

}  // namespace kvscope
