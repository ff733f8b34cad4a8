// SPDX-License-Identifier: Apache-2.0
// How long the window takes, and the made-up runs that it can be measured with.

#include "app/window/diagnostics/latency.h"
#include "app/window/diagnostics/latency_hud.h"
#include "app/window/shell/main_window.h"
#include "app/window/shell/rows.h"
#include "policy/catalog.h"
#include "viz/draw/format.h"

namespace kvscope {

void MainWindow::measureLatency() {
  m_latency = std::make_unique<Latency>(m_options.program_start);
  connect(&m_controller, &SessionController::requestChanged, m_latency.get(), &Latency::requestChanged);
  connect(&m_controller, &SessionController::submitted, m_latency.get(), &Latency::submitted);
  connect(&m_workspace, &Workspace::snapshotChanged, m_latency.get(), [this] { m_latency->snapshotTaken(m_workspace.snapshot()); });
  for (CanvasWidget* canvas : m_canvases) connect(canvas, &CanvasWidget::painted, m_latency.get(), &Latency::canvasPainted);
  // What a frame showed may be another part of the text.
  connect(m_latency.get(), &Latency::recorded, m_crumbs, &CrumbRow::lookAtZoom);
  connect(m_crumbs, &CrumbRow::zoomRestored, this, [this] {
    for (CanvasWidget* canvas : m_canvases) canvas->invalidate();
  });
  m_hud = new LatencyHud(*m_latency, m_workspace, centralWidget());
}

void MainWindow::toggleHud() {
  m_hud->setVisible(!m_hud->isVisible());
  m_hud->raise();
}

void MainWindow::startSynthetic() {
  const SyntheticSize size = *m_options.synthetic_size;
  RunRequest nothing;
  nothing.lanes = {policies().front().name};
  m_controller.openRequest(nothing);
  const QString words =
      QString(
          "Synthetic cache of %1 layers, %2 KV heads and %3 tokens, made up to show and to measure the window: no model has run, "
          "and edits change nothing. Open a model to leave it")
          .arg(size.n_layers)
          .arg(size.n_kv_heads)
          .arg(QString::fromStdString(viz::format_count(size.n_prompt)));
  m_notices->show(words, words);
  m_synthetic = std::make_unique<SyntheticSource>(size);
  refreshTitle();
  connect(m_synthetic.get(), &SyntheticSource::grown, this, [this](const SnapshotPtr& snapshot) {
    RunRequest shown = m_controller.request();
    shown.prompt = snapshot->prompt;
    m_controller.showStored(snapshot, shown, "This cache is made up: nothing can be computed from it. Open a model first");
  });
  m_synthetic->start();
}

}  // namespace kvscope
