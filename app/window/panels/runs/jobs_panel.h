// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QPlainTextEdit>
#include <QSet>
#include <QWidget>

class QTableWidget;
class QToolButton;

namespace kvscope {

class ElidedLabel;
class RunQueue;
class SessionController;
class Workspace;

/// What is computed, what waits for it, what it takes, and what was said meanwhile.
class JobsPanel : public QWidget {
  Q_OBJECT

 public:
  JobsPanel(Workspace& workspace, SessionController& controller, RunQueue& queue, QWidget* parent = nullptr);

  QTableWidget& table() { return *m_table; }
  QString log() const { return m_log->toPlainText(); }
  QString memoryText() const;
  QString facts() const;

 public Q_SLOTS:
  /// One line of the log, with the time before it.
  void note(const QString& text);

 Q_SIGNALS:
  void factsChanged();

 protected:
  void changeEvent(QEvent* event) override;

 private:
  void keepRowsInSight();
  void refresh();
  void readSnapshot();
  void cancelSelected();

  Workspace& m_workspace;
  SessionController& m_controller;
  RunQueue& m_queue;
  QTableWidget* m_table;
  QToolButton *m_cancel, *m_cancel_all, *m_clear;
  ElidedLabel* m_memory;
  QPlainTextEdit* m_log;
  QSet<QString> m_said;  // warnings of runs, each once
  QSet<int> m_failed;    // runs whose failure was said
};

}  // namespace kvscope
