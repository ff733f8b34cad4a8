// SPDX-License-Identifier: Apache-2.0
// The report: one page with prompt, settings, numbers and pictures, for a notebook or a paper's appendix.
#include <QDateTime>
#include <QFileDialog>
#include <QFileInfo>
#include <QPainter>
#include <QStandardPaths>

#include "app/window/shell/main_window.h"
#include "app/window/files/report.h"
#include "app/window/shell/rows.h"
#include "app/window/panels/runs/sweep_panel.h"
#include "viz/draw/format.h"
#include "viz/reduce/compare.h"
#include "viz/draw/theme.h"

namespace kvscope {

namespace {

constexpr int kWidth = 1000;
constexpr double kScale = 2;

}  // namespace

Report MainWindow::report() {
  Report out;
  out.snapshot = m_workspace.snapshotPtr();
  out.n_generate = m_controller.request().n_generate;
  out.temperature = m_controller.request().temperature;
  out.seed = m_controller.request().seed;
  out.model_folder = m_controller.modelFolder();
  out.bookmarks = m_bookmarks.all();
  out.written = QDateTime::currentDateTime().toString("yyyy-MM-dd hh:mm");
  if (CanvasWidget* compare = canvas("compare")) out.runs = compare->table();
  // On white paper, whatever the window wears.
  const viz::Theme& paper = viz::light_theme();
  const auto picture = [&](const char* id, const QString& title, int height) {
    CanvasWidget* from = canvas(id);
    if (!from || out.snapshot->lanes.empty()) return;
    QImage image = from->picture(kScale, QSize(kWidth, height), paper);
    if (image.isNull()) return;
    image.setDevicePixelRatio(kScale);
    out.pictures.push_back({title, from->facts(), image});
  };
  const int n_lanes = static_cast<int>(out.snapshot->lanes.size());
  picture("compare", "What each run keeps", std::clamp(200 + 90 * n_lanes, 420, 640));
  const QString run = m_workspace.lane() ? QString("%1 %2").arg(QString::fromStdString(viz::lane_letter(m_workspace.selection().lane))).arg(QString::fromStdString(m_workspace.lane()->title)) : QString();
  picture("atlas", "The cache of run " + run, 420);
  picture("timeline", "The steps of run " + run, 240);
  if (m_workspace.selection().kv_head) picture("inspector", "One head of run " + run, 620);
  if (m_sweep->data().nMeasured() > 0) {
    out.sweep = m_sweep->data().table();
    out.pictures.push_back({"Quality and budget", m_sweep->facts(), m_sweep->chart().picture(QSize(kWidth, 460), kScale, paper)});
  }
  return out;
}

void MainWindow::writeReportAs() {
  const QString folder = QStandardPaths::writableLocation(QStandardPaths::DocumentsLocation);
  const QString html = "Web page (*.html)", pdf = "PDF, one page (*.pdf)", sheets = "PDF, A4 sheets (*.pdf)";
  QString filter;
  QString path = QFileDialog::getSaveFileName(this, "Write report", folder + "/kvscope-report", html + ";;" + pdf + ";;" + sheets, &filter);
  if (path.isEmpty()) return;
  if (QFileInfo(path).suffix().isEmpty()) path += filter == html ? ".html" : ".pdf";
  QString why;
  if (!writeReport(report(), path, filter == sheets ? ReportPaper::a4_sheets : ReportPaper::one_page, &why)) m_notices->show(why, why);
}

}  // namespace kvscope
