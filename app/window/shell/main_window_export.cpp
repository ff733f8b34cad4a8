// SPDX-License-Identifier: Apache-2.0
// Pictures and numbers out of the window: into files and onto the clipboard.
#include <QApplication>
#include <QClipboard>
#include <QFileDialog>
#include <QMenu>
#include <QStandardPaths>

#include "app/window/canvas/canvas_widget.h"
#include "app/window/files/export.h"
#include "app/window/shell/main_window.h"
#include "app/window/shell/panel.h"
#include "app/window/shell/passing_words.h"
#include "app/window/shell/rows.h"
#include "app/window/panels/runs/sweep_panel.h"
#include "app/window/panels/runs/table_panel.h"
#include "viz/draw/svg.h"

namespace kvscope {

namespace {

/// The ending of a file that a view can be written as; empty: none of them was typed.
QString typedKind(const QString& path) {
  for (const char* ending : {".svg", ".png", ".csv"})
    if (path.endsWith(ending, Qt::CaseInsensitive)) return ending;
  return {};
}

}  // namespace

CanvasWidget* MainWindow::exportedCanvas() const {
  for (CanvasWidget* canvas : m_canvases)
    if (canvas->isVisible() && canvas->hasFocus()) return canvas;
  if (m_maximised)
    for (CanvasWidget* canvas : m_canvases)
      if (m_maximised->content() == canvas) return canvas;
  switch (page()) {
    case Page::inspect: return canvas("atlas");
    case Page::inspector: return canvas("inspector");
    case Page::compare: return canvas("compare");
    case Page::lecture: return m_lecture_atlas;
    default: return nullptr;
  }
}

void MainWindow::savePicture() {
  CanvasWidget* const chosen = exportedCanvas();
  const bool sweep = page() == Page::sweep && !chosen;
  const QString name = chosen ? QString(chosen->view().title()) : sweep ? panel("sweep")->title() : QString("window");
  const QString svg = "SVG picture of " + name + " (*.svg)", csv = "Numbers of " + name + " (*.csv)", window = "PNG picture of the whole window (*.png)";
  QStringList filters, kinds = {".png"};
  const auto png = [&](int scale) { return QString("PNG picture of %1, %2 px a point (*.png)").arg(name).arg(scale); };
  if (chosen) filters << svg << png(1) << png(2) << png(4), kinds << ".svg";
  if (chosen || sweep) filters << csv, kinds << ".csv";
  filters << window;
  // Taken before the dialog covers or moves anything.
  const QPixmap whole = picture();
  const QString folder = QStandardPaths::writableLocation(QStandardPaths::PicturesLocation);
  QString filter;
  QString path = QFileDialog::getSaveFileName(this, "Export view", folder + "/" + name.toLower().replace(' ', '-'), filters.join(";;"), &filter);
  if (path.isEmpty()) return;
  QString ending = filter == svg ? ".svg" : filter == csv ? ".csv" : ".png";
  // Who writes an ending means it, whatever the list of kinds stands on; one that cannot be here gives way to the chosen kind.
  if (const QString typed = typedKind(path); kinds.contains(typed)) {
    ending = typed;
  } else {
    path = path.chopped(typed.size()) + ending;
  }
  QString why;
  if (ending == ".csv" && sweep) {
    if (m_sweep->data().nMeasured() == 0)
      why = path + " was not written: nothing is measured yet; choose policies and budgets and press Measure";
    else
      writeFile(path, viz::to_csv(m_sweep->data().table()), &why);
  } else if (chosen && (ending != ".png" || filter != window)) {
    exportCanvas(*chosen, *this, m_workspace, path, filter == png(4) ? 4 : filter == png(2) ? 2 : 1, &why);
  } else if (!whole.save(path, "PNG")) {
    why = "the picture could not be written to " + path + ": choose a folder that is writable and has space";
  }
  if (!why.isEmpty()) return m_messages->show(why, why);
  m_passing->say("Exported to " + path, *m_pages);
}

void MainWindow::copyPicture() {
  CanvasWidget* const chosen = exportedCanvas();
  QApplication::clipboard()->setImage(chosen ? canvasAsImage(*chosen, m_workspace, std::max(2.0, devicePixelRatioF())) : picture().toImage());
}

void MainWindow::copyNumbers() {
  CanvasWidget* const chosen = exportedCanvas();
  if (chosen || page() == Page::sweep) QApplication::clipboard()->setText(QString::fromStdString(viz::to_csv(chosen ? chosen->table() : m_sweep->data().table())));
}

void MainWindow::showNumbers() {
  if (CanvasWidget* const chosen = exportedCanvas())
    m_table->setSource(chosen->view().title(), [chosen] { return chosen->table(); });
  else if (page() == Page::sweep)
    m_table->setSource(panel("sweep")->title(), [this] { return m_sweep->data().table(); });
  showDock("table");
}

/// A right click on a view: what can be changed in it by hand, and its picture and numbers. The click gave it the focus, so it is the one meant.
void MainWindow::offerMenus() {
  for (CanvasWidget* of : m_canvases) {
    const QString id = of->view().id();
    const bool has_tokens = id == "atlas" || id == "head_strip" || id == "inspector";
    connect(of, &CanvasWidget::contextMenuRequested, this, [this, of, has_tokens](const QPoint& at) {
      of->setFocus(Qt::MouseFocusReason);
      auto* menu = new QMenu(of);
      menu->setAttribute(Qt::WA_DeleteOnClose);
      if (has_tokens) {
        menu->addActions(m_hand_menu->actions());
        menu->addSeparator();
      }
      for (QAction* a : m_take_out) menu->addAction(a);
      menu->popup(at);
    });
  }
}

}  // namespace kvscope
