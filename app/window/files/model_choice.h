// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QObject>
#include <QString>

#include "app/window/session/model_finder.h"

class QDialog;
class QWidget;

namespace kvscope {

class FoundModels;
class RecentFiles;

/// Which model to open: those on this machine, as a table for the welcome and in a dialog, which also leads to a folder or a file.
class ModelChoice : public QObject {
  Q_OBJECT

 public:
  /// `everywhere` false: nothing is looked for unasked, so that pictures do not depend on what lies on a machine.
  ModelChoice(const RecentFiles& recent, bool everywhere, QWidget& window);

  ModelFinder& finder() { return m_finder; }
  QDialog& dialog() const { return *m_dialog; }
  FoundModels& inDialog() const { return *m_in_dialog; }
  /// A table of its own, shown as long as there is something in it.
  FoundModels* makeTable(QWidget* parent);

 public Q_SLOTS:
  void look();
  void ask();
  void askForFolder();
  void askForFile();

 Q_SIGNALS:
  void chosen(const QString& path);

 private:
  void makeDialog();
  void connectTable(FoundModels& table);

  const RecentFiles& m_recent;
  const bool m_everywhere;
  ModelFinder m_finder;
  QDialog* m_dialog;
  FoundModels* m_in_dialog;
};

}  // namespace kvscope
