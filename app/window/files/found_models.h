// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>
#include <QWidget>

class QLabel;
class QPushButton;
class QTreeWidget;
class QTreeWidgetItem;

namespace kvscope {

class ModelFinder;

/// The models on this machine as a table, in which those that do not open say why. Double click, Enter or the button below opens one.
class FoundModels : public QWidget {
  Q_OBJECT

 public:
  explicit FoundModels(ModelFinder& finder, QWidget* parent = nullptr);

  QTreeWidget& table() const { return *m_table; }
  QPushButton& stopButton() const { return *m_stop; }
  QPushButton& openButton() const { return *m_open; }
  QString status() const;
  QString details() const;  // of the selected model: where it is, or why it does not open
  /// The selected one; empty: none, or one that does not open.
  QString chosen() const;

 Q_SIGNALS:
  void openRequested(const QString& path);
  void lookRequested();  // once more

 private:
  void refresh();
  void addRow(std::size_t index);
  void showDetails();
  void activate(const QTreeWidgetItem* item);

  ModelFinder& m_finder;
  QTreeWidget* m_table;
  QLabel *m_status, *m_details;
  QPushButton *m_open, *m_stop;
  std::size_t m_shown = 0;  // models of the finder that have a row
  int m_opening = 0;        // rows that open: they come first
};

}  // namespace kvscope
