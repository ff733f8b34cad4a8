// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <QObject>
#include <QString>

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
class SweepProcess;
class TextSweepDialog;
class UnfinishedSweep;
class WindowRows;
struct LaneSpec;
struct WindowModel;

/// What is computed: the commands of the menus Run and Compare, runs beside those on screen (added by the grid, measured by the sweep,
/// opened from a curve), and what of them runs and waits.
class RunActions : public QObject {
  Q_OBJECT

 public:
  RunActions(QWidget& window, WindowModel& model, WindowRows& rows, Pages& pages, Panels& panels);
  ~RunActions() override;

  /// Its panel is the last of all.
  void addSweep(Panels& panels);
  /// Made when it is first wanted, as is that of sweeps.
  AddRunsDialog& dialog();
  JobsPanel& jobs() { return *m_jobs; }
  SweepPanel& sweep() { return *m_sweep; }
  SweepPage& sweepPage() { return *m_sweep_page; }
  SweepProcess& textSweep() { return *m_texts; }
  TextSweepDialog& textSweepDialog();
  /// A run that was opened and has its result is looked at.
  void selectWanted();
  void lookAt(int run);
  void fillRunMenu(Commands& commands, QMenu* menu);
  void fillSamplingMenu(Commands& commands, QMenu* menu);
  void fillCompareMenu(Commands& commands, QMenu* menu);

 public Q_SLOTS:
  void generate();
  void generateOneMore();
  void stop();                       // the request, and the run beside the others
  void add();                        // opens the dialog
  void addRun(const QString& spec);  // beside the others; looked at as soon as it is there
  void giveAllTheBudget();           // of the run that is looked at
  void sweepTexts();                 // opens the dialog of sweeps over many texts
  void open(const QString& spec);    // looks at it in the comparison; runs it first where it is no lane yet

 Q_SIGNALS:
  void jobsRequested();
  /// The field of this parameter, as soon as this run is looked at.
  void fieldRequested(const QString& run, const QString& key);

 private:
  struct Choice {
    QString text;
    std::function<void()> take;
  };
  void fillChoices(Commands& commands, QMenu* menu, const std::vector<Choice>& choices, const std::function<int()>& current);
  void fillTogetherMenu(Commands& commands, QMenu* menu);
  void addByPages();
  void addOwnScore();
  void wantRun(const QString& spec);
  void sayChanges();
  QString twins(const std::vector<LaneSpec>& before) const;
  QString editsLeft(const std::vector<LaneSpec>& before) const;
  void sayRefusals();
  void openTextStore(const QString& folder);
  void sayEndOfTextSweep();

  QWidget& m_window;
  WindowModel& m_model;
  WindowRows& m_rows;
  Pages& m_pages;
  JobsPanel* m_jobs;
  SweepPanel* m_sweep = nullptr;
  SweepPage* m_sweep_page = nullptr;
  std::unique_ptr<AddRunsDialog> m_dialog;
  std::unique_ptr<SweepProcess> m_texts;
  std::unique_ptr<UnfinishedSweep> m_unfinished;
  std::unique_ptr<TextSweepDialog> m_texts_dialog;
  int m_failure_said = 0;         // run of the queue whose refusal was said last
  QString m_texts_failure;        // of a sweep over texts, that was said
  std::string m_wanted;           // to be looked at as soon as it is there
  std::vector<LaneSpec> m_lanes;  // as they were asked for last
};

}  // namespace kvscope
