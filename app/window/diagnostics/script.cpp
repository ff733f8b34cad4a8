// SPDX-License-Identifier: Apache-2.0
#include "app/window/diagnostics/script.h"

#include <algorithm>
#include <iostream>
#include <vector>

#include <QApplication>
#include <QElapsedTimer>
#include <QEventLoop>
#include <QTimer>

#include "app/window/canvas/canvas_widget.h"
#include "app/window/diagnostics/scene_dump.h"
#include "app/window/files/document.h"
#include "app/window/files/export.h"
#include "app/window/files/film.h"
#include "app/window/files/report.h"
#include "app/window/panels/runs/sweep_panel.h"
#include "app/window/panels/stores/store_panel.h"
#include "app/window/panels/stores/sweep_page.h"
#include "app/window/rows/rows.h"
#include "app/window/shell/main_window.h"
#include "io/terminal_text.h"

namespace kvscope {

namespace {

constexpr int kComputeTimeoutMs = 10 * 60 * 1000;
constexpr int kFrames = 60;
constexpr double kStepsPerSecond = 2;  // of a film, as the timeline plays them

void say(const std::string& words) { std::cerr << "kvscope: " << for_terminal(words) << "\n"; }

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

void turn(int ms) {
  bool over = false;
  QTimer::singleShot(ms, Qt::PreciseTimer, qApp, [&over] { over = true; });
  while (!over) QApplication::processEvents(QEventLoop::AllEvents | QEventLoop::WaitForMoreEvents);
}

struct Samples {
  std::vector<double> submit, surface, whole;
};

double msSince(const QElapsedTimer& timer) { return static_cast<double>(timer.nsecsElapsed()) * 1e-6; }

/// Repaints the page with a hover that moves from token to token: all of its canvases at once, as in use, and each one alone.
void benchPage(MainWindow& window, MainWindow::Page page, const char* name) {
  window.showPage(page);
  turn(300);
  std::vector<CanvasWidget*> shown;
  for (CanvasWidget* canvas : window.views().all())
    if (canvas->isVisible()) shown.push_back(canvas);
  const auto hover = [&window](int token) {
    viz::Hover at;
    at.token = token;
    window.workspace().setHover(at);
  };
  const auto row = [](const char* what, const QSize& size, const Samples& s) {
    const std::string pixels = std::to_string(size.width()) + "x" + std::to_string(size.height());
    std::printf("%-22s %-10s %8.2f %10.2f %10.2f\n", what, pixels.c_str(), median(s.submit), median(s.surface), median(s.whole));
  };
  Samples all;
  for (int i = 0; i < kFrames; ++i) {
    QElapsedTimer timer;
    timer.start();
    hover(i);
    shown.front()->repaint();  // paints everything that waits
    all.whole.push_back(msSince(timer));
    double submit = 0, surface = 0;
    for (const CanvasWidget* canvas : shown) submit += canvas->times().submit_ms, surface += canvas->times().total_ms;
    all.submit.push_back(submit);
    all.surface.push_back(surface);
  }
  row((std::string("page ") + name).c_str(), window.size(), all);
  for (CanvasWidget* canvas : shown) {
    Samples one;
    for (int i = 0; i < kFrames; ++i) {
      {
        const QSignalBlocker quiet(window.workspace());
        hover(i);
      }
      QElapsedTimer timer;
      timer.start();
      canvas->invalidate();
      canvas->repaint();
      one.whole.push_back(msSince(timer));
      one.submit.push_back(canvas->times().submit_ms);
      one.surface.push_back(canvas->times().total_ms);
    }
    row((std::string("  ") + canvas->view().id()).c_str(), canvas->size(), one);
  }
  hover(-1);
  window.workspace().setHover({});
}

int benchDraw(MainWindow& window) {
  std::printf("median ms of %d                     submit    surface      whole\n", kFrames);
  benchPage(window, MainWindow::Page::inspect, "inspect");
  benchPage(window, MainWindow::Page::inspector, "inspector");
  benchPage(window, MainWindow::Page::compare, "compare");
  return 0;
}

/// The canvas of this page that is called so: the lecture has an atlas of its own.
CanvasWidget* shownCanvas(MainWindow& window, const std::string& id) {
  const auto& all = window.views().all();
  const auto found = std::find_if(all.begin(), all.end(), [&](const CanvasWidget* c) { return c->isVisible() && id == c->view().id(); });
  return found == all.end() ? nullptr : *found;
}

/// Every step of the run that is shown, one picture after the other: of one canvas, or without one of the window.
bool writeFilm(MainWindow& window, CanvasWidget* canvas, const QString& path, double scale, QString* error) {
  Film film(path);
  *error = film.problem();
  if (!error->isEmpty()) return false;
  const LaneSnapshot* const lane = window.workspace().lane();
  const int n_steps = lane ? static_cast<int>(lane->steps.size()) : 0;
  if (n_steps == 0) {
    *error = path + ": there is no step to show";
    return false;
  }
  for (int step = 0; step < n_steps; ++step) {
    viz::Selection at = window.workspace().selection();
    at.step = step;
    window.workspace().setSelection(at);
    if (!waitUntilSettled(window, kComputeTimeoutMs)) {
      *error = QString("%1: step %2 was not drawn").arg(path).arg(step);
      return false;
    }
    if (!film.add(canvas ? canvasAsImage(*canvas, window.workspace(), scale) : window.exports().picture().toImage(), error)) return false;
  }
  return film.write(kStepsPerSecond, error);
}

/// What --picture, --canvas and --scale ask for.
int writePicture(MainWindow& window, const Options& options) {
  const QString path = QString::fromStdString(options.picture);
  const auto ends = [&path](const char* ending) { return path.endsWith(ending, Qt::CaseInsensitive); };
  const bool svg = ends(".svg"), csv = ends(".csv"), json = ends(".json");
  QString error;
  const auto failed = [&error](int status) {
    say(error.toStdString());
    return status;
  };
  std::vector<CanvasWidget*> shown;
  for (CanvasWidget* canvas : window.views().all())
    if (canvas->isVisible()) shown.push_back(canvas);
  if (options.canvas.empty() && shown.empty() && (svg || csv || json)) {  // a file of nothing would look like an answer
    error = QString("%1: %2 of a canvas, and this page has none; --view inspect or compare has%3")
                .arg(path,
                     csv    ? "numbers are written"
                     : json ? "a scene is"
                            : "an SVG picture is",
                     svg ? ", and .png is of any page" : "");
    return failed(2);
  }
  if (!options.canvas.empty() || csv) {
    CanvasWidget* const canvas = options.canvas.empty() ? window.exports().canvas() : shownCanvas(window, options.canvas);
    if (!canvas) {
      std::string names;
      for (const CanvasWidget* c : shown) names += (names.empty() ? "" : ", ") + std::string(c->view().id());
      error = QString::fromStdString("--canvas: this page shows " + (names.empty() ? "none" : names) + ", not \"" + options.canvas +
                                     "\"; --view chooses the page");
      return failed(2);
    }
    if (Film::isOne(path)) return writeFilm(window, canvas, path, options.scale, &error) ? 0 : failed(1);
    if (!exportCanvas(*canvas, window, window.workspace(), path, options.scale, &error)) return failed(1);
    if (csv && !canvas->table().note.empty()) say(options.picture + ": " + canvas->table().note);
    return 0;
  }
  if (Film::isOne(path)) return writeFilm(window, nullptr, path, 1, &error) ? 0 : failed(1);
  if (json) return writeFile(path, sceneDump(shown).toStdString(), &error) ? 0 : failed(1);
  if (svg) return writeFile(path, canvasesAsSvg(shown, window, window.workspace()), &error) ? 0 : failed(1);
  return writePng(path, window.exports().picture().toImage(), &error) ? 0 : failed(1);
}

/// What the engine says of a run stands in a window below it, which nobody sees here: that memory will be short, say. As soon as it is
/// known.
void sayNotices(MainWindow& window) {
  QObject::connect(&window.workspace(), &Workspace::snapshotChanged, &window, [&window, said = std::string()]() mutable {
    const std::string& notice = window.workspace().snapshot().notice;
    if (notice == said) return;
    const bool goes_on = !said.empty() && notice.starts_with(said + "; ");
    if (!notice.empty()) say(goes_on ? notice.substr(said.size() + 2) : notice);
    said = notice;
  });
}

}  // namespace

bool waitUntilSettled(MainWindow& window, int timeout_ms) {
  QElapsedTimer timer;
  timer.start();
  const auto answered = [&window] {
    const RunPhase phase = window.workspace().snapshot().phase;
    return !window.workspace().stale() && !window.model().runs.busy() && !window.document().results().busy() &&
           (phase == RunPhase::idle || phase == RunPhase::failed);
  };
  const auto failed = [&window] {  // not what was asked for before
    const Snapshot& snapshot = window.workspace().snapshot();
    return snapshot.phase == RunPhase::failed && window.controller().answersNewest(snapshot);
  };
  const auto settled = [&window] {
    return std::all_of(window.views().all().begin(), window.views().all().end(),
                       // One behind a tab is not painted.
                       [](const CanvasWidget* c) { return !c->isVisible() || c->visibleRegion().isEmpty() || c->settled(); });
  };
  do {
    while (!answered() && !failed()) {
      if (timer.elapsed() > timeout_ms) return false;
      QApplication::processEvents(QEventLoop::AllEvents | QEventLoop::WaitForMoreEvents, 20);
    }
    // Layouts and queued answers of the canvases: some rounds of them, however long the machine has others go first.
    for (int round = 0; round < 10; ++round) turn(10);
    while (!settled() && timer.elapsed() <= timeout_ms) turn(10);
  } while (!answered() && !failed());  // a view that is shown may have asked for more to be measured
  return true;
}

int runScript(MainWindow& window, const Options& options) {
  if (!window.views().noPictures().isEmpty()) {
    std::cerr << "kvscope: " << window.views().noPictures().toStdString() << "\n";
    return 1;
  }
  if (!window.document().notOpened().isEmpty()) {  // nothing to wait for: what is computed is not what was asked for
    say(window.document().notOpened().toStdString());
    return 1;
  }
  window.setAttribute(Qt::WA_DontShowOnScreen, !options.bench_draw);
  sayNotices(window);
  QApplication::setCursorFlashTime(0);  // a picture does not depend on when the text cursor blinks
  window.show();
  if (!waitUntilSettled(window, kComputeTimeoutMs)) {
    std::cerr << "kvscope: no result after 10 minutes: take a shorter prompt or fewer runs\n";
    return 1;
  }
  if (!window.document().notOpened().isEmpty()) {
    say(window.document().notOpened().toStdString());
    return 1;
  }
  const Snapshot& snapshot = window.workspace().snapshot();
  if (snapshot.phase == RunPhase::failed) {
    say(snapshot.failure);
    return 1;
  }
  if (!window.place().notThere().isEmpty()) {  // another place would pass for the one that was asked for
    say(window.place().notThere().toStdString());
    return 1;
  }
  if (options.ofSession() && !window.notices().isHidden()) say(window.notices().text().toStdString());
  if (options.bench_draw) return benchDraw(window);
  if (!options.store.empty()) {
    while (window.runActions().sweepPage().store().more()) QApplication::processEvents();
  } else if (options.view == "sweep") {  // a picture of curves needs them measured
    window.runActions().sweep().start();
    waitUntilSettled(window, kComputeTimeoutMs);
  }
  if (!options.report.empty()) {
    QString error;
    if (writeReport(window.exports().report(), QString::fromStdString(options.report),
                    options.report_sheets ? ReportPaper::a4_sheets : ReportPaper::one_page, &error))
      return 0;
    say(error.toStdString());
    return 1;
  }
  return writePicture(window, options);
}

}  // namespace kvscope
