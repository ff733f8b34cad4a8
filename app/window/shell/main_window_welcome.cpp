// SPDX-License-Identifier: Apache-2.0
// What a start without files offers.
#include <QApplication>
#include <QSettings>
#include <QStackedWidget>

#include "app/window/canvas/canvas_widget.h"
#include "app/window/shell/main_window.h"
#include "app/window/shell/rows.h"
#include "app/window/help/tour.h"
#include "app/window/help/welcome_page.h"

namespace kvscope {

namespace {
const char* const kAtStart = "welcome";  // settings
const char* const kTourSeen = "tourSeen";
}

void MainWindow::buildWelcome() {
  m_welcome = new WelcomePage(m_workspace, m_pages);
  m_pages->addWidget(m_welcome);
  m_welcome->setShownAtStart(!m_settings || m_settings->value(kAtStart, true).toBool());
  connect(m_welcome, &WelcomePage::lectureRequested, this, &MainWindow::openSampleLecture);
  connect(m_welcome, &WelcomePage::modelRequested, this, &MainWindow::openModel);
  connect(m_welcome, &WelcomePage::inspectRequested, this, [this] {
    showPage(Page::inspect);
    offerTour();
  });
  connect(m_welcome, &WelcomePage::tourRequested, this, &MainWindow::startTour);
  connect(m_welcome, &WelcomePage::shownAtStartChanged, this, [this](bool on) {
    if (m_settings) m_settings->setValue(kAtStart, on);
  });
}

/// Six stops over the layout Inspect, which it shows.
void MainWindow::startTour() {
  showPage(Page::inspect);
  if (!m_tour) {
    const auto part = [this](const char* id) {
      return [this, id]() -> QWidget* { return panel(id) ? panel(id)->body() : nullptr; };
    };
    const QList<TourStop> stops = {
        {"Type here", "Every change of the text is computed at once. The colour behind a word is what became of it in the selected head.", part("prompt")},
        {"The whole cache", "One row a head, one column a token. Click a cell: all other panels follow. The wheel zooms.", part("atlas")},
        {"One head", "What this step's query reads. A hatched bar is attention that the full cache pays to a token which is gone here.", part("head_strip")},
        {"Time", "One column a step. Space plays, the arrows step, and everything shows the chosen step.", part("timeline")},
        {"Does it matter?", "The next token with the full cache and with this one. KL says how far apart both are.", part("effect")},
        {"Less memory", "The policy and its budget: drag the budget in the toolbar and watch who stays. Compare shows all runs, Lecture shows it in large type.",
         part("policy")}};
    m_tour = new Tour(stops, centralWidget());
    connect(m_tour, &Tour::ended, this, [this] {
      if (m_settings) m_settings->setValue(kTourSeen, true);
      if (m_tour->isAncestorOf(QApplication::focusWidget())) canvas("atlas")->setFocus();
    });
  }
  m_tour->start();
}

/// The first time that somebody meets the layout Inspect, and never over a lecture or a file that was asked for.
void MainWindow::offerTour() {
  if (!m_settings || !m_options.atStartOnly() || m_settings->value(kTourSeen, false).toBool()) return;
  m_settings->setValue(kTourSeen, true);
  startTour();
}

bool MainWindow::welcomes() const {
  if (m_options.view == "welcome") return true;
  return m_settings && m_options.atStartOnly() && m_settings->value(kAtStart, true).toBool();
}

void MainWindow::openSampleLecture() {
  openSessionFile(QString::fromStdString(sampleLecture()));
  m_session_path.clear();  // saving must not write over the sample
  m_modified = false;
  refreshTitle();
  showPage(Page::lecture);
}

}  // namespace kvscope
