// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QDialog>

class QLabel;
class QLineEdit;
class QPushButton;

namespace kvscope {

class RunGrid;
class RunQueue;
class SessionController;
class Workspace;

/// Chooses runs to add to the comparison and says before what they cost. The window stays usable behind it.
class AddRunsDialog : public QDialog {
  Q_OBJECT

 public:
  AddRunsDialog(Workspace& workspace, SessionController& controller, RunQueue& queue, QWidget* parent);

  RunGrid& grid() { return *m_grid; }
  QLineEdit& text() { return *m_text; }
  QPushButton& addButton() { return *m_add; }
  QString estimate() const;

 protected:
  void showEvent(QShowEvent* event) override;

 private:
  struct Typed {
    std::string spec;  // in our own words, where it can be read
    QString wrong, read_as;
  };

  QString usualBudgets() const;
  std::vector<std::string> chosen() const;
  Typed typed() const;
  void refresh();
  void add();

  Workspace& m_workspace;
  SessionController& m_controller;
  RunQueue& m_queue;
  RunGrid* m_grid;
  QLineEdit* m_text;
  QLabel *m_estimate, *m_note;
  QPushButton* m_add;
};

}  // namespace kvscope
