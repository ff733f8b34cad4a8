// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <QObject>

class QMenu;
class QWidget;

namespace kvscope {

class AddRunsDialog;
class Commands;
class JobsPanel;
class Pages;
class Panels;
class SweepPage;
class SweepPanel;
class WindowRows;
struct WindowModel;

/// What is computed: the commands of the menus Run and Compare, runs beside those on screen (added by the grid, measured by the sweep,
/// opened from a curve), and what of them runs and waits.
class RunActions : public QObject {
  Q_OBJECT

 public:
  RunActions(QWidget& window, WindowModel& model, WindowRows& rows, Pages& pages, Panels& panels);

  /// Its panel is the last of all.
  void addSweep(Panels& panels);
  void makeDialog();
  AddRunsDialog& dialog() { return *m_dialog; }
  JobsPanel& jobs() { return *m_jobs; }
  SweepPanel& sweep() { return *m_sweep; }
  SweepPage& sweepPage() { return *m_sweep_page; }
  /// A run that was opened and has its result is looked at.
  void selectWanted();
  void lookAt(int run);
  void fillRunMenu(Commands& commands, QMenu* menu);
  void fillSamplingMenu(Commands& commands, QMenu* menu);
  void fillCompareMenu(Commands& commands, QMenu* menu);

 public Q_SLOTS:
  void generate();
  void generateOneMore();
  void stop();                     // the request, and the run beside the others
  void add();                      // opens the dialog
  void open(const QString& spec);  // looks at it in the comparison; runs it first where it is no lane yet

 Q_SIGNALS:
  void jobsRequested();

 private:
  struct Choice {
    QString text;
    std::function<void()> take;
  };
  void fillChoices(Commands& commands, QMenu* menu, const std::vector<Choice>& choices, const std::function<int()>& current);
  void sayRefusals();

  QWidget& m_window;
  WindowModel& m_model;
  WindowRows& m_rows;
  Pages& m_pages;
  JobsPanel* m_jobs;
  SweepPanel* m_sweep = nullptr;
  SweepPage* m_sweep_page = nullptr;
  AddRunsDialog* m_dialog = nullptr;
  int m_failure_said = 0;  // run of the queue whose refusal was said last
  std::string m_wanted;    // to be looked at as soon as it is there
};

}  // namespace kvscope
