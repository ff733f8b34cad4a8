// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <QWidget>

#include "app/window/panels/runs/sweep_chart.h"
#include "app/window/panels/runs/sweep_data.h"
#include "app/window/panels/stores/text_sweep_dialog.h"
#include "app/window/session/run_queue.h"
#include "app/window/session/session_file.h"

class QComboBox;
class QLabel;
class QPushButton;
class QToolButton;

namespace kvscope {

class RunGrid;
class SessionController;
class Workspace;

/// Budget sweep: which runs, how far they are, and the curves. A run of a sweep is measured and given up; the one whose point is opened
/// becomes a lane.
class SweepPanel : public QWidget {
  Q_OBJECT

 public:
  SweepPanel(Workspace& workspace, SessionController& controller, RunQueue& queue, QWidget* parent = nullptr);

  SweepData& data() { return m_data; }
  SweepChart& chart() { return *m_chart; }
  RunGrid& grid() { return *m_grid; }
  QPushButton& startButton() { return *m_start; }
  QString progressText() const;
  QString facts() const;
  /// For the panel's header.
  std::vector<QWidget*> controls() const;
  /// Chooses what the runs on screen suggest, once.
  void suggest();
  /// Policies, budgets in percent and seeds, once somebody measured or typed something here; nullopt: nobody did.
  std::optional<TextSweepDialog::Swept> swept() const;
  /// What was measured or chosen, for a session's file.
  SavedSweep saved() const;
  /// Of a session: comes back as soon as its text is computed.
  void restore(const SavedSweep& sweep);

 public Q_SLOTS:
  void start();
  void cancel();

 Q_SIGNALS:
  void factsChanged();
  void openRequested(const QString& spec);
  void textsRequested();  // a sweep over many texts
  void measured();

 protected:
  void showEvent(QShowEvent* event) override;

 private:
  void listen();
  void showBytes();
  void takeText();
  void takeSaved();
  bool chosenHere() const;
  void refresh();
  bool open() const;  // runs of it wait or run

  Workspace& m_workspace;
  SessionController& m_controller;
  RunQueue& m_queue;
  SweepData m_data;
  RunGrid* m_grid;
  SweepChart* m_chart;
  QPushButton *m_start, *m_cancel;
  QLabel *m_progress, *m_lost;
  QWidget* m_bar;
  QComboBox *m_metric, *m_axis;
  QToolButton *m_log_x, *m_log_y;
  bool m_suggested = false;
  std::string m_model;                 // that the text was read with
  std::vector<std::string> m_offered;  // runs that were chosen by suggest()
  bool m_of_bytes = false;             // a budget of the grid is
  SavedSweep m_saved;                  // waits for its text
};

}  // namespace kvscope
