// SPDX-License-Identifier: Apache-2.0
#include "app/window/script.h"

#include <algorithm>
#include <iostream>
#include <vector>

#include <QApplication>
#include <QElapsedTimer>
#include <QEventLoop>

#include "app/window/main_window.h"

namespace kvscope {

namespace {

constexpr int kComputeTimeoutMs = 10 * 60 * 1000;
constexpr int kFrames = 60;

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

void turn(int ms) {
  QElapsedTimer timer;
  timer.start();
  do QApplication::processEvents(QEventLoop::AllEvents, 5);
  while (timer.elapsed() < ms);
}

/// Repaints every visible canvas with a moving mouse; prints medians.
int benchDraw(MainWindow& window) {
  struct Page {
    MainWindow::Page page;
    const char* name;
  };
  std::printf("canvas          pixels        submit ms   whole repaint ms\n");
  for (const Page page : {Page{MainWindow::Page::inspect, "inspect"}, Page{MainWindow::Page::inspector, "inspector"},
                          Page{MainWindow::Page::compare, "compare"}}) {
    window.showPage(page.page);
    turn(300);
    for (CanvasWidget* canvas : window.canvases()) {
      if (!canvas->isVisible()) continue;
      std::vector<double> submit, whole;
      for (int i = 0; i < kFrames; ++i) {
        // A hover that moves makes the view look up and highlight, as in use.
        viz::Hover hover;
        hover.token = i;
        window.workspace().setHover(hover);
        QElapsedTimer timer;
        timer.start();
        canvas->invalidate();
        canvas->repaint();
        whole.push_back(static_cast<double>(timer.nsecsElapsed()) * 1e-6);
        submit.push_back(canvas->times().submit_ms);
      }
      const std::string pixels = std::to_string(canvas->width()) + "x" + std::to_string(canvas->height());
      std::printf("%-15s %-13s %9.2f   %16.2f\n", canvas->view().id(), pixels.c_str(), median(submit), median(whole));
    }
  }
  return 0;
}

}  // namespace

bool waitUntilSettled(MainWindow& window, int timeout_ms) {
  QElapsedTimer timer;
  timer.start();
  const auto answered = [&window] {
    const RunPhase phase = window.workspace().snapshot().phase;
    return !window.workspace().stale() && (phase == RunPhase::idle || phase == RunPhase::failed);
  };
  while (!answered() || window.workspace().snapshot().phase == RunPhase::failed) {
    if (window.workspace().snapshot().phase == RunPhase::failed) break;
    if (timer.elapsed() > timeout_ms) return false;
    QApplication::processEvents(QEventLoop::AllEvents | QEventLoop::WaitForMoreEvents, 20);
  }
  turn(150);  // two settling frames of every canvas
  return true;
}

int runScript(MainWindow& window, const Options& options) {
  if (!window.noPictures().isEmpty()) {
    std::cerr << "kvscope: " << window.noPictures().toStdString() << "\n";
    return 1;
  }
  window.setAttribute(Qt::WA_DontShowOnScreen, options.bench_draw ? false : true);
  window.show();
  if (!waitUntilSettled(window, kComputeTimeoutMs)) {
    std::cerr << "kvscope: no result after 10 minutes: take a shorter prompt or fewer runs\n";
    return 1;
  }
  const Snapshot& snapshot = window.workspace().snapshot();
  if (snapshot.phase == RunPhase::failed) {
    std::cerr << "kvscope: " << snapshot.failure << "\n";
    return 1;
  }
  if (options.bench_draw) return benchDraw(window);
  if (!window.picture().save(QString::fromStdString(options.picture), "PNG")) {
    std::cerr << "kvscope: the picture could not be written to " << options.picture << ": choose a folder that is writable\n";
    return 1;
  }
  return 0;
}

}  // namespace kvscope
