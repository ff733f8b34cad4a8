// SPDX-License-Identifier: Apache-2.0
// Runs beside those on screen: added by the grid, measured by the sweep, opened from a curve.
#include <algorithm>

#include "app/window/panels/runs/add_runs_dialog.h"
#include "app/window/panels/runs/jobs_panel.h"
#include "app/window/shell/main_window.h"
#include "app/window/shell/rows.h"
#include "app/window/panels/runs/run_grid.h"
#include "app/window/panels/runs/sweep_panel.h"

namespace kvscope {

void MainWindow::addRuns() {
  m_add_runs->show();
  m_add_runs->raise();
  m_add_runs->activateWindow();
}

void MainWindow::addSweepPanel() {
  m_sweep = new SweepPanel(m_workspace, m_controller, m_runs);
  Panel* panel = addPanel("sweep", "Quality and budget", m_sweep);
  for (QWidget* control : m_sweep->controls()) panel->addControl(control);
  connect(m_sweep, &SweepPanel::factsChanged, panel, [this, panel] { panel->setFacts(m_sweep->facts()); });
  panel->setFacts(m_sweep->facts());
  connect(m_sweep, &SweepPanel::openRequested, this, &MainWindow::openRun);
}

void MainWindow::addJobsPanel() {
  m_jobs = new JobsPanel(m_workspace, m_controller, m_runs);
  Panel* panel = addPanel("jobs", "Jobs & log", m_jobs);
  connect(m_jobs, &JobsPanel::factsChanged, panel, [this, panel] { panel->setFacts(m_jobs->facts()); });
  panel->setFacts(m_jobs->facts());
  for (MessageBar* bar : {m_notices, m_messages}) connect(bar, &MessageBar::said, m_jobs, &JobsPanel::note);
  connect(m_status, &StatusRow::jobsClicked, this, &MainWindow::showJobs);
  connect(&m_runs, &RunQueue::changed, this, [this] {
    m_status->setQueued(m_runs.nOpen());
    // A refusal is said where people look, not only in the list.
    for (const QueuedRun& run : m_runs.runs()) {
      if (run.state != QueuedRun::State::failed || run.purpose != QueuedRun::Purpose::lane || run.id <= m_failure_said) continue;
      m_failure_said = run.id;
      m_notices->show(run.failure, run.failure);
    }
  });
}

void MainWindow::showJobs() {
  showDock("jobs");
  m_jobs->setFocus();
}

void MainWindow::openRun(const QString& spec) {
  m_wanted_run = spec.toStdString();
  const std::vector<std::string>& lanes = m_controller.request().lanes;
  if (std::find(lanes.begin(), lanes.end(), m_wanted_run) == lanes.end()) m_runs.add({m_wanted_run}, QueuedRun::Purpose::lane);
  showPage(Page::compare);
  selectWantedRun();
}

void MainWindow::selectWantedRun() {
  const std::vector<LaneSnapshot>& lanes = m_workspace.snapshot().lanes;
  for (int i = 0; !m_wanted_run.empty() && i < static_cast<int>(lanes.size()); ++i) {
    if (lanes[static_cast<std::size_t>(i)].spec != m_wanted_run) continue;
    m_wanted_run.clear();
    viz::Selection selection = m_workspace.selection();
    selection.lane = i;
    m_workspace.setSelection(selection);
  }
}

/// What runs beside the others is given up, too: it would only begin again. The points of a sweep are one thing, runs are not.
void MainWindow::stopComputing() {
  if (const QueuedRun* run = m_runs.running())  // it runs only while nothing else does
    return run->purpose == QueuedRun::Purpose::point ? m_runs.cancelBatch(run->batch) : m_runs.cancel(run->id);
  m_controller.stop();
}

}  // namespace kvscope
