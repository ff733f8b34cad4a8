// SPDX-License-Identifier: Apache-2.0
#include "app/window/diagnostics/bench_ui_player.h"

#include <algorithm>

#include <QApplication>
#include <QEventLoop>
#include <QKeyEvent>
#include <QSlider>
#include <QTimer>
#include <QWheelEvent>

#include "app/window/panels/prompt/prompt_editor.h"
#include "app/window/panels/prompt/prompt_panel.h"
#include "app/window/rows/rows.h"
#include "app/window/shell/main_window.h"
#include "core/machine_memory.h"

namespace kvscope {

namespace {

constexpr int kAnswerTimeoutMs = 120'000;
using Part = Latency::Stage;

double msSince(Latency::Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Latency::Clock::now() - begin).count();
}

void mouse(QWidget& widget, QEvent::Type type, const QPointF& at, Qt::MouseButton button, Qt::MouseButtons buttons) {
  QMouseEvent event(type, at, widget.mapToGlobal(at), button, buttons, Qt::NoModifier);
  QApplication::sendEvent(&widget, &event);
}

}  // namespace

BenchPlayer::BenchPlayer(MainWindow& window) : m_window(window) {}

const std::vector<BenchPlayer::Kind>& BenchPlayer::kinds() {
  static const std::vector<Kind> all = {{"edit", &BenchPlayer::edit},     {"budget", &BenchPlayer::budget}, {"scrub", &BenchPlayer::scrub},
                                        {"pan", &BenchPlayer::pan},       {"zoom", &BenchPlayer::zoom},     {"hover", &BenchPlayer::hover},
                                        {"cancel", &BenchPlayer::cancel}, {"page", &BenchPlayer::page},     {"theme", &BenchPlayer::theme}};
  return all;
}

std::vector<QString> benchActions() {
  std::vector<QString> names;
  for (const BenchPlayer::Kind& kind : BenchPlayer::kinds()) names.push_back(kind.name);
  return names;
}

bool BenchPlayer::waitFor(const std::function<bool()>& done, int timeout_ms) {
  // The loop sleeps between events, as that of the program does; the stamps do not come from here.
  QEventLoop loop;
  QTimer look, limit;
  bool in_time = true;
  QObject::connect(&look, &QTimer::timeout, &loop, [&] {
    if (done()) loop.quit();
  });
  QObject::connect(&limit, &QTimer::timeout, &loop, [&] {
    in_time = false;
    loop.quit();
  });
  limit.setSingleShot(true);
  limit.start(timeout_ms);
  look.start(2);
  loop.exec();
  return in_time;
}

bool BenchPlayer::settled() const {
  const std::vector<CanvasWidget*>& all = m_window.views().all();
  return !m_window.timing().latency().inFrame() &&
         std::all_of(all.begin(), all.end(), [](const CanvasWidget* c) { return !c->isVisible() || c->settled(); });
}

void BenchPlayer::rest() {
  waitFor([this] { return settled(); }, kAnswerTimeoutMs);
  remember();
}

void BenchPlayer::remember() {
  m_most_resident = std::max(m_most_resident, process_memory().resident);
  for (double ms : m_window.timing().latency().of(Part::event).values()) m_stalls.add(ms);
  if (m_window.timing().latency().of(Part::event).quantile(1) > 50)
    m_longest << m_playing + ": " + m_window.timing().latency().longestEvent();
  m_window.timing().latency().clear();
}

bool BenchPlayer::start(const QString& prompt) {
  m_window.show();
  const auto answered = [this] {
    const Snapshot& s = m_window.workspace().snapshot();
    if (s.phase == RunPhase::failed) return true;
    if (m_window.timing().synthetic()) return m_window.timing().synthetic()->done() && m_window.timing().latency().openMs().has_value();
    return s.phase == RunPhase::idle && !m_window.workspace().stale() && m_window.timing().latency().openMs().has_value();
  };
  if (!waitFor(answered, 600'000)) return false;
  if (!prompt.isEmpty() && !m_window.timing().synthetic()) {
    m_window.work().prompt().editor().setExactText(prompt);
    const std::string text = prompt.toStdString();
    if (!waitFor([&] { return answered() && m_window.workspace().snapshot().prompt == text; }, 600'000)) return false;
  }
  if (m_window.workspace().snapshot().phase == RunPhase::failed) return false;
  rest();
  return true;
}

BenchFigures BenchPlayer::play(const BenchAction& action) {
  const QString page = action.words.value("page").toString("inspect");
  m_window.showPage(page == "compare"     ? MainWindow::Page::compare
                    : page == "inspector" ? MainWindow::Page::inspector
                                          : MainWindow::Page::inspect);
  rest();
  m_playing = action.what + " on " + page;
  // A head is chosen, so that the views of one head have something to draw, unless the script wants all of them.
  viz::Selection selection = m_window.workspace().selection();
  selection.layer.reset();
  selection.kv_head.reset();
  if (!action.words.value("all_heads").toBool()) {
    selection.layer = m_window.workspace().snapshot().model.n_layers / 2;
    selection.kv_head = 0;
  }
  m_window.workspace().setSelection(selection);
  rest();
  for (const Kind& kind : kinds()) {
    if (action.what != kind.name) continue;
    BenchFigures figures = (this->*kind.play)(action);
    rest();
    return figures;
  }
  return {};
}

CanvasWidget* BenchPlayer::target(const BenchAction& action) const {
  const QString name = action.words.value("canvas").toString("atlas");
  if (CanvasWidget* canvas = m_window.canvas(name.toStdString()); canvas && canvas->isVisible()) return canvas;
  return m_window.exports().canvas();
}

BenchFigures BenchPlayer::frames(const BenchAction& action, const Once& once) {
  BenchFigures out = {{"submit", {}}, {"frame", {}}, {"turn", {}}};
  std::map<QString, Durations> canvases;
  for (int i = 0; i < action.warm_up + action.times; ++i) {
    const quint64 before = m_window.timing().latency().frames();
    const auto begin = Latency::Clock::now();
    double turn = kNotAvailable;
    const auto connection = QObject::connect(&m_window.timing().latency(), &Latency::recorded, &m_window, [&] {
      if (turn != turn) turn = msSince(begin);
    });
    once(i);
    waitFor([&] { return m_window.timing().latency().frames() > before && settled(); }, 2000);
    QObject::disconnect(connection);
    if (i >= action.warm_up) {
      for (double ms : m_window.timing().latency().of(Part::submit).values()) out[0].second.add(ms);
      for (double ms : m_window.timing().latency().of(Part::frame).values()) out[1].second.add(ms);
      if (turn == turn) out[2].second.add(turn);
      addCanvases(canvases);
    }
    remember();
  }
  for (const auto& [canvas, durations] : canvases) out.push_back({"submit " + canvas, durations});
  return out;
}

void BenchPlayer::addCanvases(std::map<QString, Durations>& canvases) const {
  for (const CanvasWidget* canvas : m_window.views().all())
    if (canvas->isVisible()) canvases[canvas->view().id()].add(canvas->times().submit_ms);
}

BenchFigures BenchPlayer::answers(const BenchAction& action, const Once& once) {
  static constexpr std::pair<const char*, Part> kFigures[] = {
      {"command", Part::command}, {"waiting", Part::waiting},     {"engine", Part::engine}, {"hand_over", Part::hand_over},
      {"paint", Part::paint},     {"published", Part::published}, {"view", Part::view}};
  BenchFigures out;
  for (const auto& [name, stage] : kFigures) out.push_back({name, {}});
  for (int i = 0; i < action.warm_up + action.times; ++i) {
    const quint64 before = m_window.timing().latency().viewed();
    once(i);
    waitFor([&] { return m_window.timing().latency().viewed() > before && !m_window.workspace().stale() && settled(); }, kAnswerTimeoutMs);
    waitFor([&] { return m_window.workspace().snapshot().phase == RunPhase::idle; }, kAnswerTimeoutMs);
    for (std::size_t f = 0; i >= action.warm_up && f < out.size(); ++f)
      for (double ms : m_window.timing().latency().of(kFigures[f].second).values()) out[f].second.add(ms);
    remember();
  }
  return out;
}

BenchFigures BenchPlayer::edit(const BenchAction& action) {
  PromptEditor& editor = m_window.work().prompt().editor();
  editor.setFocus();
  const bool middle = action.words.value("at").toString() == "middle";
  return answers(action, [&](int i) {
    QTextCursor cursor = editor.textCursor();
    cursor.setPosition(static_cast<int>(editor.exactText().size()) / (middle ? 2 : 1));
    editor.setTextCursor(cursor);
    QKeyEvent key(QEvent::KeyPress, Qt::Key_A + i % 26, Qt::NoModifier, QString(QChar('a' + i % 26)));
    QApplication::sendEvent(&editor, &key);
  });
}

BenchFigures BenchPlayer::budget(const BenchAction& action) {
  QSlider* slider = m_window.rows().tools().budgetSlider();
  return answers(action, [slider](int i) {
    // A drag over four places within one pause: what counts is the last one.
    for (int k = 0; k < 4; ++k) {
      const int range = std::max(1, slider->maximum() - slider->minimum());
      slider->setValue(slider->minimum() + (slider->value() - slider->minimum() + 1 + (7 * i + k) % 13) % range);
    }
  });
}

BenchFigures BenchPlayer::scrub(const BenchAction& action) {
  const LaneSnapshot* lane = m_window.workspace().lane();
  const int n = lane ? static_cast<int>(lane->steps.size()) : 0;
  const bool far = action.words.value("far").toBool();
  return frames(action, [this, n, far](int i) { m_window.model().playback.goTo(n < 2 ? 0 : far ? (i % 2 ? n - 2 : 0) : i % (n - 1)); });
}

BenchFigures BenchPlayer::pan(const BenchAction& action) {
  CanvasWidget* canvas = target(action);
  const QPointF middle(canvas->width() / 2.0, canvas->height() / 3.0);
  for (int i = 0; i < 6; ++i) {  // so far in that there is something to pan
    QWheelEvent wheel(middle, canvas->mapToGlobal(middle), {}, QPoint(0, 120), Qt::NoButton, Qt::NoModifier, Qt::NoScrollPhase, false);
    QApplication::sendEvent(canvas, &wheel);
  }
  mouse(*canvas, QEvent::MouseMove, middle, Qt::NoButton, Qt::NoButton);
  rest();
  mouse(*canvas, QEvent::MouseButtonPress, middle, Qt::LeftButton, Qt::LeftButton);
  BenchFigures out = frames(action, [&](int i) {
    const double x = middle.x() + 8.0 * (i % 40 < 20 ? i % 20 : 20 - i % 20);
    mouse(*canvas, QEvent::MouseMove, {x, middle.y()}, Qt::NoButton, Qt::LeftButton);
  });
  mouse(*canvas, QEvent::MouseButtonRelease, middle, Qt::LeftButton, Qt::NoButton);
  QKeyEvent all(QEvent::KeyPress, Qt::Key_0, Qt::NoModifier, "0");
  QApplication::sendEvent(canvas, &all);
  return out;
}

BenchFigures BenchPlayer::zoom(const BenchAction& action) {
  CanvasWidget* canvas = target(action);
  const QPointF at(canvas->width() / 2.0, canvas->height() / 3.0);
  return frames(action, [&](int i) {
    QWheelEvent wheel(at, canvas->mapToGlobal(at), {}, QPoint(0, i % 20 < 10 ? 120 : -120), Qt::NoButton, Qt::NoModifier, Qt::NoScrollPhase,
                      false);
    QApplication::sendEvent(canvas, &wheel);
  });
}

BenchFigures BenchPlayer::hover(const BenchAction& action) {
  CanvasWidget* canvas = target(action);
  BenchFigures out = {{"hover", {}}, {"submit", {}}, {"frame", {}}};
  for (int i = 0; i < action.warm_up + action.times; ++i) {
    const viz::Hover before = m_window.workspace().hover();
    const QPointF at(120 + (i * 37) % std::max(1, canvas->width() - 140), 40 + (i * 23) % std::max(1, canvas->height() - 110));
    const auto begin = Latency::Clock::now();
    mouse(*canvas, QEvent::MouseMove, at, Qt::NoButton, Qt::NoButton);
    const bool changed = waitFor([&] { return !(m_window.workspace().hover() == before); }, 200);
    double shown = kNotAvailable;
    const quint64 frames_before = m_window.timing().latency().frames();
    if (changed && waitFor([&] { return m_window.timing().latency().frames() > frames_before || settled(); }, 2000)) shown = msSince(begin);
    waitFor([&] { return settled(); }, 2000);
    if (i >= action.warm_up) {
      if (shown == shown) out[0].second.add(shown);
      for (double ms : m_window.timing().latency().of(Part::submit).values()) out[1].second.add(ms);
      for (double ms : m_window.timing().latency().of(Part::frame).values()) out[2].second.add(ms);
    }
    remember();
  }
  return out;
}

BenchFigures BenchPlayer::cancel(const BenchAction& action) {
  BenchFigures out = {{"cancel", {}}};
  const int before = m_window.controller().request().n_generate;
  for (int i = 0; i < action.warm_up + action.times; ++i) {
    m_window.controller().generate(action.words.value("generate").toInt(500) + i);
    waitFor([] { return false; }, 120 + 7 * (i % 5));                                                        // somewhere within the work
    if (!m_window.workspace().stale() && m_window.workspace().snapshot().phase == RunPhase::idle) continue;  // it was done already
    const auto begin = Latency::Clock::now();
    m_window.controller().stop();
    waitFor([this] { return m_window.workspace().snapshot().phase == RunPhase::idle && !m_window.workspace().stale(); }, kAnswerTimeoutMs);
    if (i >= action.warm_up) out[0].second.add(msSince(begin));
    remember();
  }
  m_window.controller().generate(before);
  waitFor([this] { return m_window.workspace().snapshot().phase == RunPhase::idle && !m_window.workspace().stale(); }, kAnswerTimeoutMs);
  return out;
}

BenchFigures BenchPlayer::page(const BenchAction& action) {
  constexpr MainWindow::Page kPages[] = {MainWindow::Page::compare, MainWindow::Page::inspect, MainWindow::Page::inspector,
                                         MainWindow::Page::inspect};
  return frames(action, [this, kPages](int i) { m_window.showPage(kPages[i % 4]); });
}

BenchFigures BenchPlayer::theme(const BenchAction& action) {
  return frames(action, [this](int) { m_window.theme().set(m_window.workspace().theme().dark ? "light" : "dark"); });
}

}  // namespace kvscope
