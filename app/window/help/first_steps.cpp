// SPDX-License-Identifier: Apache-2.0
#include "app/window/help/first_steps.h"

#include <utility>

#include <QApplication>
#include <QStackedWidget>

#include "app/window/help/tour.h"
#include "app/window/help/welcome_page.h"
#include "app/window/rows/window_rows.h"
#include "app/window/session/window_model.h"
#include "app/window/shell/pages.h"
#include "app/window/shell/panels.h"
#include "viz/views.h"

namespace kvscope {

namespace {
const char* const kAtStart = "welcome";  // settings
}  // namespace

FirstSteps::FirstSteps(WindowModel& model, WindowRows& rows, Pages& pages, const Panels& panels)
    : m_model(model), m_rows(rows), m_pages(pages), m_panels(panels), m_welcome(new WelcomePage(model.workspace, &rows.pages())) {
  pages.add(Page::welcome, m_welcome, {"welcome", m_welcome, {}, {}});
  KeptSettings* settings = model.settings.get();
  // Once; from then on the last session, unless it was asked for.
  m_welcome->setShownAtStart(settings && settings->value(kAtStart, false).toBool());
  connect(m_welcome, &WelcomePage::inspectRequested, this, [this] { m_pages.show(Page::inspect); });  // as Esc
  connect(m_welcome, &WelcomePage::tourRequested, this, &FirstSteps::startTour);
  connect(m_welcome, &WelcomePage::shownAtStartChanged, this, [settings](bool on) {
    if (!settings) return;
    settings->setValue(kAtStart, on);
    settings->keepNow("“Show this at every start”");
  });
}

void FirstSteps::startTour() {
  m_pages.show(Page::inspect);
  if (!touring()) {
    m_in_front.clear();
    for (const Panel* panel : m_panels.all())
      if (!panel->body()->visibleRegion().isEmpty()) m_in_front.emplace_back(panel->body()->parentWidget());
  }
  if (!m_tour) {
    const auto part = [this](const QString& id) {
      return [this, id]() -> QWidget* {
        Panel* const panel = m_panels.of(id);
        if (!panel) return nullptr;
        panel->body()->parentWidget()->raise();  // it may be a tab behind another one
        return panel->body();
      };
    };
    QList<TourStop> stops = {
        {"Type here", "Every change of the text is computed at once. The colour behind a word is what became of it in the selected head.",
         part("prompt")}};
    for (const viz::ViewEntry& view : viz::view_entries())
      if (*view.tour.title) stops.push_back({view.tour.title, view.tour.text, part(QString::fromStdString(view.id()))});
    stops += QList<TourStop>{
        {"Does it matter?", "The next token with the full cache and with this one. KL says how far apart both are.", part("effect")},
        {"Less memory",
         "The policy and its budget: drag the budget in the toolbar and watch who stays. Compare shows all runs, Lecture shows it in large type.",
         part("policy")}};
    m_tour = new Tour(stops, m_rows.central());
    connect(m_tour, &Tour::ended, this, [this] {
      for (const QPointer<QWidget>& panel : std::exchange(m_in_front, {}))
        if (panel) panel->raise();  // of tabs those that it has covered
      if (m_tour->isAncestorOf(QApplication::focusWidget())) Q_EMIT focusLeft();
    });
  }
  m_tour->start();
}

bool FirstSteps::welcomes() const {
  const Options& options = m_model.options;
  if (options.view == "welcome") return true;
  if (!m_model.settings || !options.atStartOnly()) return false;
  const bool wanted = m_model.settings->value(kAtStart, true).toBool();
  if (!m_model.settings->contains(kAtStart)) m_model.settings->setValue(kAtStart, false);
  return wanted;
}

bool FirstSteps::touring() const { return m_tour && m_tour->isVisible(); }

void FirstSteps::endTour() {
  if (m_tour) m_tour->end();
}

}  // namespace kvscope
