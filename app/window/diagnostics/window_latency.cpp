// SPDX-License-Identifier: Apache-2.0
#include "app/window/diagnostics/window_latency.h"

#include "app/window/canvas/canvases.h"
#include "app/window/diagnostics/latency_hud.h"
#include "app/window/rows/rows.h"
#include "app/window/rows/window_rows.h"
#include "app/window/session/window_model.h"
#include "policy/catalog.h"
#include "viz/draw/format.h"

namespace kvscope {

WindowLatency::WindowLatency(WindowModel& model, WindowRows& rows, Canvases& canvases)
    : m_model(model),
      m_rows(rows),
      m_latency(model.options.program_start),
      m_hud(new LatencyHud(m_latency, model.workspace, rows.central())) {
  connect(&model.controller, &SessionController::requestChanged, &m_latency, &Latency::requestChanged);
  connect(&model.controller, &SessionController::submitted, &m_latency, &Latency::submitted);
  connect(&model.workspace, &Workspace::snapshotChanged, &m_latency, [this] { m_latency.snapshotTaken(m_model.workspace.snapshot()); });
  for (CanvasWidget* canvas : canvases.all()) connect(canvas, &CanvasWidget::painted, &m_latency, &Latency::canvasPainted);
  // What a frame showed may be another part of the text.
  connect(&m_latency, &Latency::recorded, &rows.crumbs(), &CrumbRow::lookAtZoom);
  connect(&rows.crumbs(), &CrumbRow::zoomRestored, this, [&canvases] { canvases.redraw(); });
  rows.setOverlay(m_hud);
}

WindowLatency::~WindowLatency() = default;

void WindowLatency::toggleHud() {
  m_hud->setVisible(!m_hud->isVisible());
  m_hud->raise();
}

void WindowLatency::startSynthetic() {
  const SyntheticSize size = *m_model.options.synthetic_size;
  RunRequest nothing;
  nothing.lanes = parse_lane_specs({policies().front().name});
  m_model.controller.openRequest(nothing);
  const QString words =
      QString(
          "Synthetic cache of %1 layers, %2 KV heads and %3 tokens, made up to show and to measure the window: no model has run, "
          "and edits change nothing. Open a model to leave it")
          .arg(size.n_layers)
          .arg(size.n_kv_heads)
          .arg(QString::fromStdString(viz::format_count(size.n_prompt)));
  m_rows.notices().show(words, words);
  m_synthetic = std::make_unique<SyntheticSource>(size);
  connect(m_synthetic.get(), &SyntheticSource::grown, this, [this](const SnapshotPtr& snapshot) {
    RunRequest shown = m_model.controller.request();
    shown.prompt = snapshot->prompt;
    m_model.controller.showStored(snapshot, shown, "This cache is made up: nothing can be computed from it. Open a model first");
  });
  m_synthetic->start();
}

}  // namespace kvscope
